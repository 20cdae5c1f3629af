// One WebSocket for the page. It reconnects automatically, and subscribers then start over from a
// new snapshot.

import { pageKey } from "./api.js";
import { state } from "./state.js";

const FIRST_WAIT = 250,
  LAST_WAIT = 10_000,
  PING = 20_000;
const PATIENCE = 3_000,
  KEPT = 500;

class Feed {
  constructor() {
    this.subscriptions = new Map();
    this.wait = FIRST_WAIT;
    this.next = 1;
    this.watchers = new Set();
    this.handlers = new Set();
    this.recent = [];
  }

  // Calls `watcher("open" | "closed" | "again")` on changes of the connection; "again" means that
  // events may have been missed.
  watch(watcher) {
    this.watchers.add(watcher);
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(`${scheme}//${location.host}/ws?key=${encodeURIComponent(pageKey())}`);
    this.socket.onopen = () => this.#opened();
    this.socket.onmessage = (message) => this.#heard(message.data);
    this.socket.onclose = () => this.#closed();
  }

  // To be awaited before a page reads anything: every event from here on is delivered to later
  // listeners of "events".
  async begin() {
    this.recent = [];
    if (this.workspace !== state.workspace) {
      this.workspace = state.workspace;
      this.started = new Promise((resolve) => {
        this.start = resolve;
      });
      this.#add("events", (event, data) => this.#event(event, data));
    }
    await Promise.race([this.started, new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
  }

  // Subscribes to a channel; returns a function that ends it. Except for "events" there is one
  // subscription per channel: its handler gets "subscribed" first, again whenever it has to start
  // over, and "error" if the server refuses.
  on(channel, handler, wish) {
    if (channel === "events") return this.#attach(handler);
    const subscription = this.#add(channel, handler, wish);
    return () => {
      if (this.subscriptions.get(channel) !== subscription) return;
      this.subscriptions.delete(channel);
      this.#send({ action: "unsubscribe", channel });
    };
  }

  #attach(handler) {
    this.handlers.add(handler);
    for (const [event, data] of this.recent) handler(event, data);
    return () => this.handlers.delete(handler);
  }

  #event(event, data) {
    if (event === "subscribed") {
      for (const watcher of this.watchers) watcher(this.mayHaveMissed ? "again" : "open");
      this.mayHaveMissed = true;
      this.start(undefined);
      return;
    }
    this.recent.push([event, data]);
    if (this.recent.length > KEPT) this.recent.shift();
    for (const handler of [...this.handlers]) handler(event, data);
  }

  /**
   * @param {string} channel
   * @param {Function} handler
   * @param {{sessionId?: string, outline?: any}} options
   */
  #add(channel, handler, { sessionId, outline } = {}) {
    const subscription = { channel, handler, sessionId, outline, id: 0, isLive: false };
    this.subscriptions.set(channel, subscription);
    this.#subscribe(subscription);
    return subscription;
  }

  // Each request has a number: messages before its response belong to an earlier one, perhaps of
  // another session.
  #subscribe(subscription) {
    const { channel, sessionId, outline } = subscription;
    subscription.id = this.next++;
    subscription.isLive = false;
    this.#send({
      action: "subscribe",
      channel,
      sessionId,
      outline,
      workspace: state.workspace,
      id: subscription.id,
    });
  }

  #send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  #opened() {
    this.wait = FIRST_WAIT;
    this.#subscribeAll();
    clearInterval(this.pinging);
    this.pinging = setInterval(() => this.socket.readyState === WebSocket.OPEN && this.socket.send("ping"), PING);
  }

  #subscribeAll() {
    for (const subscription of this.subscriptions.values()) this.#subscribe(subscription);
  }

  #closed() {
    clearInterval(this.pinging);
    // Also before the first events: a page may have drawn, and failed, without ever being connected.
    this.mayHaveMissed = true;
    for (const watcher of this.watchers) watcher("closed");
    setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(this.wait * 2, LAST_WAIT);
  }

  #heard(text) {
    if (text === "pong") return;
    const { channel, event, data } = JSON.parse(text);
    if (channel === "system" && event === "behind") return this.#subscribeAll();
    if (channel === "error") return this.#refused(data);
    const subscription = this.subscriptions.get(channel);
    if (!subscription) return;
    if (event === "subscribed") subscription.isLive = data.id === subscription.id;
    if (subscription.isLive) subscription.handler(event, data);
  }

  #refused(data) {
    for (const subscription of this.subscriptions.values())
      if (subscription.id === data.id) subscription.handler("error", data);
  }
}

export const feed = new Feed();
