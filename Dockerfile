# Sealward in a container: `docker build -t sealward .`, then `docker run -v ./sealward.json:/etc/sealward/sealward.json:ro -v sealward:/var/lib/sealward -p 8080:8080 sealward`.
# The configuration must listen on 0.0.0.0 to be reached from outside the container.
# A tag can be moved to other bytes: --build-arg BUILD_IMAGE=swift:6.3-bookworm@sha256:... names the base images by digest.
ARG BUILD_IMAGE=swift:6.3-bookworm
ARG RUN_IMAGE=debian:bookworm-slim
FROM ${BUILD_IMAGE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends libsqlite3-dev zlib1g-dev pkg-config && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN mkdir /out && cp "$(packaging/build-static)" /out/ && strip /out/sealward

FROM ${RUN_IMAGE}
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libpq5 && rm -rf /var/lib/apt/lists/* \
    && useradd --system --home-dir /var/lib/sealward --create-home --shell /usr/sbin/nologin sealward
COPY --from=build /out/sealward /usr/bin/sealward
USER sealward
WORKDIR /var/lib/sealward
VOLUME /var/lib/sealward
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD sealward store check --url "${SEALWARD_HEALTH_URL:-http://127.0.0.1:8080}"
ENTRYPOINT ["sealward"]
CMD ["serve", "--config", "/etc/sealward/sealward.json"]
