#!/bin/sh
# Checks the API of a pull or merge request: the generated folder is what dbt's manifest gives, and no change troubles
# consumers. Both pipelines call it in a checkout of the request, with Routewright in node_modules. It writes nothing
# and needs no secret.
#
#   BASE                 the commit that the request is compared with
#   GENERATED_FOLDER     the generated folder (`out` of the config file, or generated)
#   DATABASE_URL         a database with the published relations: endpoint tests run there. Without it they do not run
#   TESTS_FOLDER         the folder of endpoint tests (api-tests)
#   GITHUB_STEP_SUMMARY  set by GitHub: findings are annotations then, and the reports are the job's summary
#
# Exit code: 0 when all is well; 1 with a finding: a stale folder, an invalid model, an exposing or breaking change, a new
# error of lint; 2 with an error. Every check runs, whatever the one before it says.
set -eu

PATH="$PWD/node_modules/.bin:$PATH"

# --missing-base ignores a base without the API, as in its first request; a commit that was not fetched is no such base.
git rev-parse --quiet --verify "$BASE^{commit}" >/dev/null || {
  echo "error: there is no commit $BASE: fetch it, or all of the history." >&2
  exit 2
}

worst=0
check() {
  status=0
  routewright "$@" || status=$?
  [ "$status" -le "$worst" ] || worst=$status
}
report() {
  [ -n "${GITHUB_STEP_SUMMARY:-}" ] || {
    check "$@"
    return
  }
  check "$@" --format github
  # Its exit code is the one above.
  routewright "$@" --format markdown >>"$GITHUB_STEP_SUMMARY" || true
}

# Not in a pipe, which would hide its exit code.
settings=$(routewright config --json)
configured='JSON.parse(require("node:fs").readFileSync(0, "utf8")).out.value'
folder=${GENERATED_FOLDER:-$(printf '%s' "$settings" | node --print "$configured")}
check generate --check --strict --out "$folder"
report diff "git:$BASE" "$folder" --generated "$folder" --missing-base ignore --fail-on breaking
report lint --base "git:$BASE" --generated "$folder" --missing-base ignore --fail-on error
# They need a database with the published relations.
if [ -n "${DATABASE_URL:-}" ] && [ -d "${TESTS_FOLDER:-api-tests}" ]; then
  check test --generated "$folder"
fi
exit "$worst"
