# Commands of streameval, with all machine code compiled; guide/recipes.md says how to build and run it.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY streameval streameval
ARG EXTRAS=
RUN python3 -m venv /opt/streameval && /opt/streameval/bin/pip install --no-cache-dir ".${EXTRAS:+[$EXTRAS]}"
# "generic" runs on every processor of this architecture; x86-64-v3 on those with AVX2, in less time
ARG CPU=generic
ENV NUMBA_CPU_NAME=$CPU NUMBA_CPU_FEATURES=
RUN /opt/streameval/bin/streameval compile

FROM python:3.13-slim
ARG CPU=generic
COPY --from=build /opt/streameval /opt/streameval
# those of the build: machine code that was made for another processor is not used
ENV PATH=/opt/streameval/bin:$PATH NUMBA_CPU_NAME=$CPU NUMBA_CPU_FEATURES=
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["streameval"]
CMD ["--help"]
