import { Router } from '@koa/router';
import { serveFile, staticFile } from '../docs/static-file.ts';
import type { AnswerSpec, Route } from '../http/route.ts';
import { headerComponents, schemaComponents, headersOf, jsonContent, refer } from './components.ts';
import { errorComponents, errorAnswer, failuresOf } from './failures.ts';
import { info, securitySchemes, tags } from './info.ts';
import { outgoingWebhooks } from './webhooks.ts';

/** Serves the OpenAPI document. It needs no key, because it contains no data of a workspace. */
export function openapiRouter(routes: readonly Route[]): Router {
  const text = `${JSON.stringify(openAnswers(createDocument(routes)))}\n`;
  const file = staticFile('application/json; charset=utf-8', Buffer.from(text));
  return new Router().get('/openapi.json', (ctx) => serveFile(ctx, file));
}

type Json = Readonly<Record<string, unknown>>;

/** The parts of a document that `openAnswers` reads. */
type Document = Json & {
  /** By path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly webhooks: Json;
  readonly components: Json & { readonly responses: Json; readonly schemas: Json };
};

/**
 * Builds the OpenAPI 3.1 document of the routes and of the outgoing webhooks. It forbids unknown fields everywhere;
 * `openAnswers` derives the published document.
 */
export const createDocument = (routes: readonly Route[]): Document => ({
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

function pathsOf(routes: readonly Route[]): Document['paths'] {
  const byPath = Map.groupBy(routes, ({ path }) => path);
  return Object.fromEntries(
    [...byPath].map(([path, calls]) => [
      path,
      Object.fromEntries(calls.map((route) => [route.method, operationOf(route)])),
    ]),
  );
}

/**
 * Derives the published document. Responses allow unknown fields, so that clients generated from an older document
 * accept newer responses. Requests stay strict, as the server is. Our tests validate responses against the strict
 * document.
 */
export function openAnswers(document: Document): Json {
  const { components } = document;
  const asked = schemasOfRequests(document);
  const schemas = Object.entries(components.schemas).map(([name, schema]) => [
    name,
    asked.has(name) ? schema : open(schema),
  ]);
  return {
    ...document,
    paths: eachOperation(document, (operation) => ({
      ...operation,
      responses: open(operation['responses']),
    })),
    webhooks: open(document.webhooks),
    components: {
      ...components,
      responses: open(components.responses),
      schemas: Object.fromEntries(schemas),
    },
  };
}

const eachOperation = ({ paths }: Document, map: (operation: Json) => Json): Json =>
  Object.fromEntries(
    Object.entries(paths).map(([path, item]) => [
      path,
      Object.fromEntries(Object.entries(item).map(([method, one]) => [method, map(one)])),
    ]),
  );

/** Removes `additionalProperties: false` at every depth. */
function open(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(open);
  }

  if (value === null || typeof value !== 'object') {
    return value;
  }

  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, part]) => key !== 'additionalProperties' || part !== false)
      .map(([key, part]) => [key, open(part)]),
  );
}

/** Names of the schemas that requests use, at any depth. */
function schemasOfRequests(document: Document): Set<string> {
  const { schemas } = document.components;
  const found = new Set<string>();
  const collect = (value: unknown): void => {
    for (const name of namesIn(value)) {
      if (!found.has(name)) {
        found.add(name);
        collect(schemas[name]);
      }
    }
  };
  eachOperation(document, (operation) => {
    collect(operation['requestBody']);
    collect(operation['parameters']);
    return operation;
  });
  return found;
}

const namesIn = (value: unknown): string[] =>
  [...JSON.stringify(value ?? null).matchAll(/"#\/components\/schemas\/(?<name>\w+)"/gv)].map(
    ({ groups }) => groups?.['name'] ?? '',
  );

/** Builds the Operation Object of a route. */
function operationOf(route: Route): Readonly<Record<string, unknown>> {
  const { operationId, tag, summary, scope, answers } = route;
  const description = [route.description, scope && `Scope: \`${scope}\`.`].filter(Boolean);
  const parameters = [
    ...pathParameters(route),
    ...queryParameters(route),
    ...headerParameters(route),
  ];
  const good = Object.entries(answers).map(([status, answer]) => [status, goodAnswer(answer)]);
  const bad = [...failuresOf(route)].map(([status, codes]) => [status, errorAnswer(codes)]);
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description.length === 0 ? {} : { description: description.join('\n\n') }),
    ...(scope === null ? {} : { 'x-required-scope': scope }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...bodyOf(route),
    responses: Object.fromEntries([...good, ...bad]),
  };
}

const pathParameters = ({ path }: Route): object[] =>
  [...path.matchAll(/\{(?<name>\w+)\}/gv)].map(({ groups }) => ({
    name: groups?.['name'],
    in: 'path',
    required: true,
    description: 'In lower case.',
    schema: { type: 'string', format: 'uuid' },
  }));

const queryParameters = ({ query = {} }: Route): object[] =>
  Object.entries(query).map(([name, { description, schema, required = false }]) => ({
    name,
    in: 'query',
    required,
    description,
    schema,
  }));

const headerParameters = ({ requestHeaders = {} }: Route): object[] =>
  Object.entries(requestHeaders).map(([name, { description, schema }]) => ({
    name,
    in: 'header',
    description,
    schema,
  }));

function bodyOf({ body, bodyKind, bodyExamples = {}, isBodyOptional }: Route): object {
  if (body === undefined) {
    return {};
  }

  const content =
    bodyKind === 'multipart'
      ? { 'multipart/form-data': { schema: refer(body), examples: bodyExamples } }
      : jsonContent(body, bodyExamples);
  return { requestBody: { required: isBodyOptional !== true, content } };
}

const goodAnswer = ({
  description,
  schema,
  headers = {},
  examples,
  alsoAs,
}: AnswerSpec): object => ({
  description,
  headers: headersOf(headers),
  content: {
    ...jsonContent(schema, examples),
    ...(alsoAs === undefined ? {} : { [alsoAs]: { schema: { type: 'string' } } }),
  },
});
