#!/bin/sh
# Publishes clients of the API where its contract changed since the last ones: types and a client for TypeScript on npm, a
# package for Python on PyPI. Run it on the main branch, after a merge, in a checkout with all tags and the right to push one.
#
#   NPM_NAME            name on npm, as @shop/api. Needs a token in ~/.npmrc, or npm's trusted publishing
#   PYPI_NAME           name on PyPI, as shop-api. Needs TWINE_USERNAME=__token__ and TWINE_PASSWORD
#   GENERATED_FOLDER    the generated folder (`out` of the config file, or generated)
#   DRY_RUN             1: builds and checks both packages, publishes nothing
#   PACKAGES            where the packages are written (packages)
#
# In node_modules: routewright, openapi-typescript. For Python: openapi-python-client, build, setuptools, twine.
#
# The version is semantic: a breaking or exposing change of `routewright diff` makes a major version, also an accepted one; another
# change a minor one; a change of the document alone, as of a description, a patch. The tag clients-v<version> keeps what was published.
#
# Exit code: 0 when the clients are published, or nothing changed; another one when a step failed: nothing is tagged then, and the next
# run takes the same version. A package that is already there is left out.
set -eu

PATH="$PWD/node_modules/.bin:$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "${PACKAGES:-packages}"
packages=$(cd "${PACKAGES:-packages}" && pwd) # npm takes a relative path for a repository of GitHub
# Not in a pipe, which would hide its exit code.
settings=$(routewright config --json)
configured='JSON.parse(require("node:fs").readFileSync(0, "utf8")).out.value'
folder=${GENERATED_FOLDER:-$(printf '%s' "$settings" | node --print "$configured")}
document="$folder/openapi.json"

last=$(git tag --list 'clients-v*' --sort=-version:refname | head -n 1)
if [ -z "$last" ]; then
  version=1.0.0
elif git diff --quiet "$last" -- "$document"; then
  echo "The contract is that of $last: nothing to publish."
  exit 0
else
  routewright diff "git:$last" "$folder" --generated "$folder" --fail-on none --format json >"$work/diff.json"
  version=$(LAST="${last#clients-v}" node --print '
    const { changes, accepted } = JSON.parse(require("node:fs").readFileSync(process.argv[1], "utf8"));
    const [major, minor, patch] = process.env.LAST.split(".").map(Number);
    const all = [...changes, ...accepted];
    const breaks = all.some(({ severity }) => severity === "breaking" || severity === "exposing");
    (breaks ? [major + 1, 0, 0] : all.length > 0 ? [major, minor + 1, 0] : [major, minor, patch + 1]).join(".");
  ' "$work/diff.json")
fi
echo "Version $version, after ${last:-none}."

npm_folder="$work/npm"
mkdir "$npm_folder"
openapi-typescript "$document" --output "$npm_folder/api.d.ts"
cat >"$npm_folder/index.js" <<'JS'
import createClient from "openapi-fetch";

export const createApi = (options) => createClient(options);
JS
cat >"$npm_folder/index.d.ts" <<'TS'
import type { Client, ClientOptions } from "openapi-fetch";
import type { paths } from "./api.js";

export type * from "./api.js";
/** A client of the API: `createApi({ baseUrl, headers: { "X-API-Key": key } })`. */
export declare function createApi(options?: ClientOptions): Client<paths>;
TS
NAME="$NPM_NAME" VERSION="$version" node --print 'JSON.stringify({
  name: process.env.NAME,
  version: process.env.VERSION,
  type: "module",
  exports: { types: "./index.d.ts", default: "./index.js" },
  files: ["index.js", "index.d.ts", "api.d.ts"],
  dependencies: { "openapi-fetch": "^0.17.0" },
})' >"$npm_folder/package.json"
tarball="$packages/$(npm pack "$npm_folder" --silent --pack-destination "$packages")"

cat >"$work/python.yml" <<YAML
project_name_override: $PYPI_NAME
package_version_override: $version
YAML
openapi-python-client generate --path "$document" --meta setup --config "$work/python.yml" --output-path "$work/python"
python3 -m build --no-isolation --outdir "$work/dist" "$work/python" >"$work/build.log" || {
  cat "$work/build.log" >&2
  exit 1
}
python3 -m twine check --strict "$work"/dist/*
cp "$work"/dist/* "$packages"

[ "${DRY_RUN:-}" != 1 ] || exit 0
published=$(npm view "$NPM_NAME@$version" version 2>/dev/null || true)
[ "$published" = "$version" ] || npm publish "$tarball" --access public
# Of PyPI alone twine knows how it says that a file is there.
[ -n "${TWINE_REPOSITORY_URL:-}" ] || existing=--skip-existing
python3 -m twine upload --non-interactive ${existing:-} "$work"/dist/*
git tag "clients-v$version"
git push --quiet origin "clients-v$version"
