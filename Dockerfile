# The server on a CPU, not as root: docker build -t lexical-sae . (docs/serving.md says how to run it)
FROM python:3.11-slim AS build
# An index that has CPU-only wheels of torch, for a smaller image: --build-arg PIP_EXTRA_INDEX_URL=…
ARG PIP_EXTRA_INDEX_URL
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY splade splade
RUN python -m venv /opt/lexical-sae && \
    /opt/lexical-sae/bin/pip install --no-cache-dir -c constraints.txt '.[serve]'

FROM python:3.11-slim
COPY --from=build /opt/lexical-sae /opt/lexical-sae
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin serve
# What is kept between commands goes where a read-only container may write; no model is looked for on a hub.
ENV PATH=/opt/lexical-sae/bin:$PATH HF_HUB_OFFLINE=1 LEXICAL_SAE_CACHE=/tmp/lexical-sae PYTHONDONTWRITEBYTECODE=1
USER 10001
EXPOSE 8000
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=3)"]
# Folders of models follow, as they are mounted. The key comes from LEXICAL_SAE_API_KEY.
ENTRYPOINT ["lexical-sae", "serve", "--host", "0.0.0.0"]
