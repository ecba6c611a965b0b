# evidence_folder.sh FOLDER: an empty folder for the evidence that tests keep, but for the file of old.
set -eu
rm -rf "$1"
mkdir -p "$1"
cp "$(dirname "$0")/../golden/dispute.evidence" "$1/"
