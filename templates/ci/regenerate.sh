#!/bin/sh
# Regenerates the API from dbt's manifest and puts what changed up for review, on GitHub or GitLab. Both pipelines call
# it in a checkout of the repository, with Routewright in node_modules and the right to push.
#
#   DBT_MANIFEST_URL    where the manifest is (or DBT_MANIFEST_PATH: a file)
#   DBT_ARTIFACTS_URL   instead: where all of dbt's files are, also s3://, gs://, az:// or dbt-cloud://
#   DBT_CATALOG_URL     where dbt's catalog.json is, for columns that no schema.yml lists; optional
#   MAIN_BRANCH         what the result is compared with, and is to be merged into (main)
#   REVIEW_BRANCH       where the result goes; nobody else commits to it (routewright/regenerate)
#   GENERATED_FOLDER    the generated folder (`out` of the config file, or generated)
#
# Exit code: 0 when all is well; 1 with a finding: an invalid model, an exposing or breaking change, a new error of lint; 2 with an
# error: no manifest, no access. After an invalid model and after an error nothing has been committed.
set -eu

export MAIN_BRANCH="${MAIN_BRANCH:-main}"
export REVIEW_BRANCH="${REVIEW_BRANCH:-routewright/regenerate}"
here=$(cd "$(dirname "$0")" && pwd)
PATH="$PWD/node_modules/.bin:$PATH"
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT

# git fails with codes of its own; here 1 is a finding.
git() {
  command git "$@" || exit 2
}

# Runs a report into a file and the log. A finding is posted first and fails the job at the end; an error fails it here.
findings=0
report() {
  file="$reports/$1"
  shift
  status=0
  "$@" --format markdown >"$file" || status=$?
  [ "$status" -le 1 ] || exit "$status"
  [ "$status" -eq 0 ] || findings=1
  cat "$file"
}

git fetch --quiet --no-tags origin "+refs/heads/$MAIN_BRANCH:refs/remotes/origin/$MAIN_BRANCH"
git checkout --quiet --detach "origin/$MAIN_BRANCH"

# Not in a pipe, which would hide its exit code.
settings=$(routewright config --json)
configured='JSON.parse(require("node:fs").readFileSync(0, "utf8")).out.value'
folder=${GENERATED_FOLDER:-$(printf '%s' "$settings" | node --print "$configured")}
routewright generate --strict --out "$folder"
# The former keeps what the folder lists. This one keeps nothing, and finds what somebody wrote there by hand.
routewright generate --check --out "$folder"
report diff.md routewright diff "git:origin/$MAIN_BRANCH" "$folder" --generated "$folder" --fail-on breaking
# Only findings at endpoints that this change adds or touches: the others are on the main branch already.
report lint.md routewright lint --fail-on error --base "git:origin/$MAIN_BRANCH" --generated "$folder"

git add --all -- "$folder"
if command git diff --cached --quiet -- "$folder"; then
  echo "$folder/ is what the manifest gives: nothing to review."
  # A change that dbt took back, or that was merged: a request that is still open closes with its branch.
  leftover=$(git ls-remote origin "refs/heads/$REVIEW_BRANCH")
  [ -z "$leftover" ] || git push --quiet origin --delete "refs/heads/$REVIEW_BRANCH"
  exit "$findings"
fi

# The same change to the same main makes the same commit: a run that repeats another pushes nothing, and approvals stay.
GIT_COMMITTER_DATE=$(git log -1 --format=%cI)
export GIT_COMMITTER_DATE
git -c user.name=Routewright -c user.email=routewright@localhost \
  commit --quiet --date "$GIT_COMMITTER_DATE" --message "Regenerate the API from dbt's manifest"
git push --quiet --force origin "HEAD:refs/heads/$REVIEW_BRANCH"

node "$here/review-request.mjs" "$reports/diff.md" "$reports/lint.md"
exit "$findings"
