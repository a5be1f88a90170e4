#!/bin/sh
# Creates the secrets for docker-compose.yml, once, in the file .env next to it. Keep a copy of that file: data sealed
# under its SECRET_KEY cannot be read without it.
set -eu
umask 077
cd "${1:-$(dirname "$0")/..}"

if [ -e .env ]; then
  echo '.env already exists and was not changed.' >&2
  exit 1
fi

secret() {
  od -An -N "$1" -tx1 /dev/urandom | tr -d ' \n'
}

{
  echo "SECRET_KEY=$(secret 32)"
  echo "DATABASE_PASSWORD=$(secret 24)"
  echo "DATABASE_ADMIN_PASSWORD=$(secret 24)"
  echo "TEMPORAL_POSTGRES_PASSWORD=$(secret 24)"
} >.env
echo 'Created .env. Keep a copy of it.'
