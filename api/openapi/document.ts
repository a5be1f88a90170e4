import { Router } from '@koa/router';
import { uuid } from '../../domain/json-schema.ts';
import { serveFile, staticFile } from '../docs/static-file.ts';
import type { AnswerSpec, Examples, QuerySpec, Route } from '../http/route.ts';
import { headerComponents, headersOf } from './components.ts';
import { exampleOf } from './example-of.ts';
import { errorComponents, errorAnswer, failuresOf } from './failures.ts';
import { info, securitySchemes, tags } from './info.ts';
import { pascal, SchemaNames } from './name-schemas.ts';
import { samplesOf } from './samples.ts';
import { outgoingWebhooks } from './webhooks.ts';

/** Serves the OpenAPI document. It needs no key, because it contains no data of a workspace. */
export function openapiRouter(document: Json): Router {
  const text = `${JSON.stringify(document)}\n`;
  const file = staticFile('application/json; charset=utf-8', Buffer.from(text));
  return new Router().get('/openapi.json', (ctx) => serveFile(ctx, file));
}

export type Json = Readonly<Record<string, unknown>>;

type Document = Json & {
  /** By path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly webhooks: Json;
  readonly components: Json & { readonly responses: Json; readonly schemas: Json };
};

/** The OpenAPI 3.1 document. It forbids unknown fields everywhere; `openAnswers` derives the published one. */
export function createDocument(routes: readonly Route[]): Document {
  const schemas = new SchemaNames();
  const parts = {
    paths: pathsOf(schemas, routes),
    webhooks: outgoingWebhooks(schemas),
    responses: errorComponents(schemas, routes),
  };
  return {
    openapi: '3.1.0',
    info,
    servers: [{ url: '/api/v1' }],
    security: [{ apiKey: [] }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: parts.paths,
    webhooks: parts.webhooks,
    components: {
      schemas: schemas.components(),
      responses: parts.responses,
      headers: headerComponents(),
      securitySchemes,
    },
  };
}

function pathsOf(schemas: SchemaNames, routes: readonly Route[]): Document['paths'] {
  const byPath = Map.groupBy(routes, ({ path }) => path);
  return Object.fromEntries(
    [...byPath].map(([path, calls]) => [
      path,
      Object.fromEntries(calls.map((route) => [route.method, operationOf(schemas, route)])),
    ]),
  );
}

/**
 * Derives the published document, whose responses allow unknown fields and values of enums, so that clients generated
 * from an older one accept newer responses. Requests stay strict. Our tests check responses by the strict document.
 */
export function openAnswers(document: Document): Json {
  const { components } = document;
  const asked = schemasOfRequests(document);
  const isEnum = (name: string): boolean => 'enum' in (components.schemas[name] as Json);
  const open = (value: unknown): unknown => opened(value, isEnum);
  const schemas = Object.entries(components.schemas).map(([name, schema]) => [
    name,
    asked.has(name) ? schema : open(schema),
  ]);
  // No operation answers 405: it is for unknown ones.
  const { method_not_allowed: _, ...responses } = components.responses;
  return {
    ...document,
    paths: eachOperation(document, (operation) => ({
      ...operation,
      responses: open(operation['responses']),
    })),
    webhooks: open(document.webhooks),
    components: {
      ...components,
      responses: open(responses),
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

/** A part of a response, with new fields and new values of its enums allowed at every depth. */
function opened(value: unknown, isEnum: (name: string) => boolean): unknown {
  if (Array.isArray(value)) {
    return value.map((one) => opened(one, isEnum));
  }

  if (value === null || typeof value !== 'object') {
    return value;
  }

  const { allOf, $ref, ...rest } = value as Json;
  if (Array.isArray(allOf)) {
    return opened(allOf[0], isEnum); // The second part has the error codes of one response.
  }

  if (typeof $ref === 'string') {
    const isOpen = $ref.includes('/schemas/') && isEnum($ref.split('/').at(-1) ?? '');
    return isOpen ? { ...rest, anyOf: [{ $ref }, { type: 'string' }] } : value;
  }

  return Object.fromEntries(
    Object.entries(rest)
      .filter(([key, part]) => key !== 'additionalProperties' || part !== false)
      .map(([key, part]) => [key, key === 'examples' ? part : opened(part, isEnum)])
      .map(([key, part]) => [key, key === 'anyOf' ? flattened(part as Json[]) : part]),
  );
}

/** Alternatives within alternatives: an open enum that may be null. */
const flattened = (anyOf: readonly Json[]): readonly Json[] =>
  anyOf.flatMap((one) => (Array.isArray(one['anyOf']) ? (one['anyOf'] as Json[]) : [one]));

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

function operationOf(schemas: SchemaNames, route: Route): Json {
  const { operationId, tag, summary, scope, answers } = route;
  const name = pascal(operationId);
  const description = [route.description, scope && `Scope: \`${scope}\`.`].filter(Boolean);
  const parameters = [
    ...pathParameters(route),
    ...parametersIn('query', route.query),
    ...parametersIn('header', route.requestHeaders),
  ].map(({ schema, ...one }) =>
    Object.assign(one, { schema: schemas.named(one.name, schema, name) }),
  );
  const good = Object.entries(answers).map(([status, answer]) => [
    status,
    goodAnswer(schemas, `${name}Answer`, answer),
  ]);
  const bad = [...failuresOf(route)].map(([status, codes]) => [
    status,
    errorAnswer(schemas, codes),
  ]);
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description.length === 0 ? {} : { description: description.join('\n\n') }),
    ...(scope === null ? {} : { 'x-required-scope': scope }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...bodyOf(schemas, `${name}Body`, route),
    'x-codeSamples': samplesOf(
      route,
      route.body && nameOf(schemas.refer(route.body, `${name}Body`)),
    ),
    ...(route.isForOperators ? { security: [{ operatorKey: [] }] } : {}),
    responses: Object.fromEntries([...good, ...bad]),
  };
}

const nameOf = ({ $ref }: Json): string => String($ref).split('/').at(-1) ?? '';

type Parameter = { readonly name: string; readonly schema: object };

const pathParameters = ({ path }: Route): Parameter[] =>
  [...path.matchAll(/\{(?<name>\w+)\}/gv)].map(({ groups }) => ({
    name: groups?.['name'] ?? '',
    in: 'path',
    required: true,
    description: 'The id, in any case.',
    schema: uuid,
  }));

const parametersIn = (
  place: 'query' | 'header',
  specs: Readonly<Record<string, QuerySpec>> = {},
): Parameter[] =>
  Object.entries(specs).map(([name, { description, schema, required = false }]) => ({
    name,
    in: place,
    required,
    description,
    schema,
  }));

function bodyOf(
  schemas: SchemaNames,
  name: string,
  { body, bodyKind, bodyExamples, isBodyOptional }: Route,
): object {
  if (body === undefined) {
    return {};
  }

  const content =
    bodyKind === 'multipart'
      ? {
          'multipart/form-data': {
            schema: schemas.refer(body, name),
            examples: bodyExamples ?? {},
          },
        }
      : schemas.jsonContent(body, name, bodyExamples ?? examplesOf(body));
  return { requestBody: { required: isBodyOptional !== true, content } };
}

const examplesOf = (schema: object): Examples => ({
  example: { value: exampleOf(schema) as object },
});

const goodAnswer = (
  schemas: SchemaNames,
  name: string,
  { description, schema, headers = {}, examples, alsoAs }: AnswerSpec,
): object => ({
  description,
  headers: headersOf(headers),
  content: {
    ...schemas.jsonContent(schema, name, examples ?? examplesOf(schema)),
    ...(alsoAs === undefined ? {} : { [alsoAs]: { schema: { type: 'string' } } }),
  },
});
