import type { Route } from '../http/route.ts';
import { schemaComponents } from './components.ts';
import { errorComponents } from './error-answers.ts';
import { headerComponents } from './headers.ts';
import { info, securitySchemes } from './info.ts';
import { operationOf } from './operation.ts';
import { tags } from './tags.ts';
import { outgoingWebhooks } from './webhooks.ts';

/**
 * The OpenAPI 3.1 document of these calls, and of the requests that go out to webhook endpoints. It allows no field
 * that it does not name, anywhere; `openAnswers` makes of it what is published.
 */
export const createDocument = (routes: readonly Route[]): Readonly<Record<string, unknown>> => ({
  openapi: '3.1.0',
  info,
  servers: [{ url: '/api/v1' }],
  security: [{ apiKey: [] }],
  tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
  paths: pathsOf(routes),
  webhooks: outgoingWebhooks(),
  components: {
    schemas: schemaComponents(),
    responses: errorComponents(routes),
    headers: headerComponents(),
    securitySchemes,
  },
});

function pathsOf(routes: readonly Route[]): object {
  const byPath = Map.groupBy(routes, ({ path }) => path);
  return Object.fromEntries(
    [...byPath].map(([path, calls]) => [
      path,
      Object.fromEntries(calls.map((route) => [route.method, operationOf(route)])),
    ]),
  );
}
