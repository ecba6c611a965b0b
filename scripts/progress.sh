#!/bin/sh
# Thins a build log for people: of Ninja's lines every fiftieth stays, of CTest's the verdicts, and everything else.
exec awk '/^\[[0-9]+\/[0-9]+\]/ { if (++built % 50 == 0) { print; fflush() } next }
          /^ +Start +[0-9]+:/ { next }
          { print; fflush() }'
