import type { AnswerSpec, Examples, Route } from '../http/route.ts';
import { headersOf, refer } from './components.ts';
import { errorAnswer, failuresOf } from './failures.ts';

/** Builds the Operation Object of a route. */
export function operationOf(route: Route): Readonly<Record<string, unknown>> {
  const { operationId, tag, summary, description, answers } = route;
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
    ...(description === undefined ? {} : { description }),
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

function bodyOf({ body, bodyKind, bodyExamples = {} }: Route): object {
  if (body === undefined) {
    return {};
  }

  const content =
    bodyKind === 'multipart'
      ? { 'multipart/form-data': { schema: refer(body), examples: bodyExamples } }
      : jsonContent(body, bodyExamples);
  return { requestBody: { required: true, content } };
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

/** A JSON body as a Content map. */
export const jsonContent = (schema: unknown, examples: Examples): object => ({
  'application/json': { schema: refer(schema), examples },
});
