# Clew in a container.
#
#   docker build -t clew-memory .
#   docker run -i --rm -v clew:/data clew-memory                     an MCP server on standard input and output
#   docker compose up                                                one for a team, with PostgreSQL (compose.yaml)
FROM python:3.12-slim AS build
WORKDIR /source
COPY requirements/run.lock requirements/run.lock
# What Clew runs on changes seldom: a layer of its own.
RUN python -m venv /opt/clew && /opt/clew/bin/pip install --no-cache-dir --quiet -r requirements/run.lock
COPY pyproject.toml hatch_build.py README.md LICENSE NOTICE ./
COPY packages packages
# Before Clew itself: building that imports all of its modules.
RUN /opt/clew/bin/pip install --no-cache-dir --quiet --no-build-isolation --no-deps ./packages/clew-memory-model
COPY src src
RUN /opt/clew/bin/pip install --no-cache-dir --quiet --no-build-isolation --no-deps .

FROM python:3.12-slim
LABEL org.opencontainers.image.title="Clew" \
      org.opencontainers.image.description="A durable memory for AI agents: what was thought, decided, proven, and what is next." \
      org.opencontainers.image.licenses="Apache-2.0" \
      io.modelcontextprotocol.server.name="example.clew/clew-memory"
RUN useradd --create-home --uid 10001 clew && install -d -o clew -g clew -m 700 /data
COPY --from=build /opt/clew /opt/clew
ENV PATH="/opt/clew/bin:$PATH" CLEW_HOME=/data PYTHONUNBUFFERED=1
USER clew
VOLUME /data
EXPOSE 1731
ENTRYPOINT ["clew"]
CMD ["serve"]
