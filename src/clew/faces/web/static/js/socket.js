// One socket for the page. It comes back by itself, and subscribers then start over from a new picture.

import { state } from "./state.js";

const FIRST_WAIT = 250, LAST_WAIT = 10_000, PING = 20_000;

class Feed {
  constructor() {
    this.subscriptions = new Map();
    this.wait = FIRST_WAIT;
    this.next = 1;
    this.watchers = new Set();
  }

  // Tells `watcher("open" | "closed")` about the connection.
  watch(watcher) {
    this.watchers.add(watcher);
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(`${scheme}//${location.host}/ws`);
    this.socket.onopen = () => this.#opened();
    this.socket.onmessage = (message) => this.#heard(message.data);
    this.socket.onclose = () => this.#closed();
  }

  // Subscribes to a channel; returns the call that ends it. One subscription a channel.
  on(channel, handler, sessionId) {
    const key = this.next++;
    for (const [other, known] of this.subscriptions) if (known.channel === channel) this.subscriptions.delete(other);
    this.subscriptions.set(key, { channel, handler, sessionId });
    this.#subscribe(this.subscriptions.get(key));
    return () => {
      if (!this.subscriptions.delete(key)) return;
      this.#send({ action: "unsubscribe", channel });
    };
  }

  #subscribe({ channel, sessionId }) {
    this.#send({ action: "subscribe", channel, sessionId, workspace: state.workspace });
  }

  #send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  #opened() {
    this.wait = FIRST_WAIT;
    for (const watcher of this.watchers) watcher("open");
    for (const subscription of this.subscriptions.values()) this.#subscribe(subscription);
    clearInterval(this.pinging);
    this.pinging = setInterval(() => this.socket.readyState === WebSocket.OPEN && this.socket.send("ping"), PING);
  }

  #closed() {
    clearInterval(this.pinging);
    for (const watcher of this.watchers) watcher("closed");
    setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(this.wait * 2, LAST_WAIT);
  }

  #heard(text) {
    if (text === "pong") return;
    const message = JSON.parse(text);
    if (message.channel === "system" && message.event === "behind") {
      for (const subscription of this.subscriptions.values()) this.#subscribe(subscription);
      return;
    }
    for (const { channel, handler } of this.subscriptions.values()) {
      if (channel === message.channel) handler(message.event, message.data);
    }
  }
}

export const feed = new Feed();
