# The image of ctbridge: one static binary (with the time zones inside), the certificates of the public authorities, and an account
# without rights. No shell, nothing to update but ctbridge; it runs with a read-only root file system.
#
#   docker build --build-arg VERSION="$(git describe --tags --always)" -t ctbridge .
#
# Where no base image can be pulled, BUILD=prebuilt takes what `make rootfs` has built here; see `make image`.
ARG BUILD=source
ARG GO_VERSION=1.26.8

FROM --platform=${BUILDPLATFORM} golang:${GO_VERSION} AS source
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
ARG TARGETOS=linux
ARG TARGETARCH
RUN GOOS=${TARGETOS} GOARCH=${TARGETARCH} make rootfs VERSION="${VERSION}" ROOTFS=/rootfs

FROM scratch AS prebuilt
COPY dist/rootfs /rootfs

FROM ${BUILD} AS build

FROM scratch
ARG VERSION=unknown
LABEL org.opencontainers.image.title="ctbridge" \
      org.opencontainers.image.description="Streams relational change tables into Kafka" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /rootfs /
# For file checkpoints and SQLite files: mount a volume here.
COPY --from=build --chown=65532:65532 /rootfs/var/lib/ctbridge /var/lib/ctbridge
WORKDIR /var/lib/ctbridge
USER 65532:65532
EXPOSE 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD ["/ctbridge", "health"]
ENTRYPOINT ["/ctbridge"]
CMD ["run", "/etc/ctbridge/ctbridge.yaml"]
