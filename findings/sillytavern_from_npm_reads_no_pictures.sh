#!/usr/bin/env bash
# SillyTavern, installed from npm as a dependency, can read no picture.
#
# The package `sillytavern` is on npm, so one would expect `npm install sillytavern` to give a working server. It starts and
# answers, but each picture that it has to decode is refused: an uploaded persona picture is "not a valid image", and the
# picture of a new character is kept as it is, without the crop that was asked for. npm puts the libraries beside the
# package, in the same node_modules. SillyTavern's decoders are WebAssembly files of these libraries, and its own `fetch`
# reads only files below the folder of the package. With `--install-strategy=shallow`, as in global installations, the libraries are
# inside of that folder, and the same picture is read.
#
# Seen with sillytavern 1.19.0, npm 11, node 20. Needs node and npm; downloads the package once (about 430 MB on disk).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >read.mjs <<'JS'
const folder = `${process.cwd()}/${process.argv[2]}`;
const { initConfig } = await import(`${folder}/src/config-init.js`);
initConfig(`${process.cwd()}/config.yaml`);
await import(`${folder}/src/fetch-patch.js`);
const { Jimp } = await import(`${folder}/src/jimp.js`);
try {
  const picture = await Jimp.read(`${folder}/default/content/user-default.png`);
  console.log(`read: ${picture.width} x ${picture.height}`);
} catch (error) {
  console.log(`refused: ${error.message}`);
}
JS
seen=""
for strategy in shallow hoisted; do
  rm -rf node_modules package-lock.json
  echo '{"private": true}' >package.json
  npm install --silent --install-strategy=$strategy --no-audit --no-fund --omit=dev sillytavern@1.19.0
  result=$(node read.mjs node_modules/sillytavern | tail -n 1)
  echo "$strategy: $result"
  seen="$seen$strategy ${result%%:*};"
done
if [ "$seen" != "shallow read;hoisted refused;" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as described"
