import { Validator } from '@seriousme/openapi-schema-validator';
import test from 'ava';
import { allRoutes } from '../../api/app.ts';
import type { ApiDeps } from '../../api/deps.ts';
import { mount } from '../../api/http/mount.ts';
import { httpStatusOf } from '../../api/http/errors.ts';
import { openAnswers } from '../../api/openapi/document.ts';
import { errorCodes, type ErrorCode } from '../../domain/errors.ts';
import type { PostView } from '../../domain/post-view.ts';
import { outcomeOf, summarize } from '../../domain/statuses.ts';
import { Contract, type Operation, ourDocument } from '../support/contract.ts';
import { sharedApi } from '../support/kit.ts';
import { rawCall } from '../support/raw-call.ts';

const api = sharedApi(test);

const routes = allRoutes;
const contract = new Contract(ourDocument());
const document = JSON.parse(JSON.stringify(contract.document));
const published = JSON.parse(JSON.stringify(openAnswers(document)));

/** Every object of the document, with the tokens of its JSON pointer. */
function* objects(
  value: unknown = document,
  pointer: readonly string[] = [],
): Generator<readonly [Readonly<Record<string, unknown>>, readonly string[]]> {
  if (value !== null && typeof value === 'object') {
    yield [value as Readonly<Record<string, unknown>>, pointer];
    for (const [key, part] of Object.entries(value)) {
      yield* objects(part, [...pointer, key]);
    }
  }
}

const operationsIn = (
  items: Readonly<Record<string, Readonly<Record<string, Operation>>>>,
): Operation[] => Object.values(items).flatMap((item) => Object.values(item));

test('the document is valid OpenAPI 3.1, as published and in its strict form', async (t) => {
  for (const one of [published, document]) {
    t.deepEqual(await new Validator().validate(structuredClone(one)), { valid: true });
  }

  const broken = structuredClone(document);
  delete broken.paths['/me'].get.responses[200].description;
  t.false((await new Validator().validate(broken)).valid);
});

test('the document needs no key, and a second request needs no download', async (t) => {
  const { url } = api.punctual;
  const reply = await rawCall(`${url}/openapi.json`);
  t.is(reply.status, 200);
  t.is(reply.headers.get('content-type'), 'application/json; charset=utf-8');
  t.deepEqual(reply.body, published);

  // As browsers do. Without the second header, fetch would request a fresh copy.
  const ask = (etag: string) => ({
    headers: { 'if-none-match': etag, 'cache-control': 'max-age=0' },
  });
  const again = await rawCall(`${url}/openapi.json`, ask(reply.headers.get('etag') ?? ''));
  t.is(again.status, 304);
  t.is((await rawCall(`${url}/openapi.json`, ask('"other"'))).status, 200);
});

test('the document has exactly the calls of the server', (t) => {
  const router = mount(routes, {} as ApiDeps); // No call is made here.
  const mounted = router.stack.flatMap(({ path, methods }) =>
    methods
      .filter((method) => method !== 'HEAD') // Comes with GET, in Koa as in OpenAPI.
      .map((method) => `${method} ${String(path).replaceAll(/:(?<name>\w+)/gv, '{$<name>}')}`),
  );
  const described = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item as object).map(
      (method) => `${method.toUpperCase()} ${document.servers[0].url}${path}`,
    ),
  );
  t.true(mounted.length >= 6);
  t.deepEqual(described.toSorted(), mounted.toSorted());
});

test('a generated client gets one name per call, with each path parameter', (t) => {
  const operations = [...operationsIn(document.paths), ...operationsIn(document.webhooks)];
  const ids = operations.map(({ operationId }) => operationId);
  t.is(new Set(ids).size, ids.length);
  t.true(ids.every((id) => /^[a-z][A-Za-z]+$/v.test(id)));

  const groupNames = document.tags.map(({ name }: { name: string }) => name);
  t.deepEqual(new Set(operations.flatMap(({ tags }) => tags)), new Set(groupNames));

  for (const [path, item] of Object.entries(document.paths as Contract['document']['paths'])) {
    const inPath = [...path.matchAll(/\{(?<name>\w+)\}/gv)].map(({ groups }) => groups?.['name']);
    for (const { operationId, parameters = [] } of Object.values(item)) {
      const described = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
      t.deepEqual(described, inPath, operationId);
    }
  }
});

test('every reference resolves, and every component is used', (t) => {
  const references = [...objects()].flatMap(([{ $ref }]) =>
    typeof $ref === 'string' ? [$ref] : [],
  );
  const components = Object.entries(document.components)
    .filter(([kind]) => kind !== 'securitySchemes')
    .flatMap(([kind, named]) =>
      Object.keys(named as object).map((name) => `#/components/${kind}/${name}`),
    );
  // A known call never answers 405: the response is documented for unknown calls.
  const unreferenced = '#/components/responses/method_not_allowed';
  t.deepEqual([...new Set([...references, unreferenced])].toSorted(), components.toSorted());
});

test('every body has an example, and every example fits its schema', async (t) => {
  const served = await Contract.of(api.punctual.url);
  const checked = { bodies: 0, values: 0 };
  for (const [{ schema, examples }, pointer] of objects()) {
    if (pointer.at(-1) === 'application/json') {
      const values = Object.values((examples ?? {}) as Record<string, { value: unknown }>);
      t.true(values.length > 0, pointer.join(' '));
      for (const { value } of values) {
        t.deepEqual(served.faults([...pointer, 'schema'], value), [], pointer.join(' '));
        checked.bodies += 1;
      }
    }

    for (const value of (schema as { examples?: unknown[] } | undefined)?.examples ?? []) {
      t.deepEqual(served.faults([...pointer, 'schema'], value), [], pointer.join(' '));
      checked.values += 1;
    }
  }

  t.true(checked.bodies >= 30, `only ${checked.bodies} bodies were checked`);
  t.true(checked.values >= 4, `only ${checked.values} other values were checked`);
});

test('the example of a post has the outcome and the counts of its channels', (t) => {
  const posts = [...objects()]
    .map(([one]) => one as PostView)
    .filter((one) => Array.isArray(one.channels) && 'summary' in one);
  t.true(posts.length > 10, `only ${posts.length} posts were checked`);
  for (const { status, outcome, summary, channels } of posts) {
    const statuses = channels.map((one) => one.status);
    t.deepEqual(
      { outcome, summary },
      { outcome: outcomeOf(status, statuses), summary: summarize(statuses) },
    );
  }
});

type Call = { readonly path: string; readonly method: string; readonly operation: Operation };
const calls: Call[] = Object.entries(contract.document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
);

/** The Response Object of a call's status, with its reference resolved. */
const responseOf = ({ path, method }: Call, status: string) =>
  contract.follow(['paths', path, method, 'responses', status]);

test('the example of each failure has its code and status', (t) => {
  const shown = new Set<string>();
  for (const call of calls) {
    for (const status of Object.keys(call.operation.responses).filter((one) => one >= '400')) {
      const media = [...responseOf(call, status), 'content', 'application/json'];
      const examples = contract.at([...media, 'examples']) as Record<string, { value: Example }>;
      for (const [code, { value }] of Object.entries(examples)) {
        t.is(value.code, code);
        t.is(String(httpStatusOf[code as ErrorCode]), status, code);
        shown.add(code);
      }
    }
  }

  // No documented call answers 405: it is for unknown calls.
  t.deepEqual(
    errorCodes.filter((code) => !shown.has(code)),
    ['method_not_allowed'],
  );
});

type Example = { readonly code: string };

test('the published document allows new fields in responses and events, and is strict about requests', (t) => {
  // `GET /networks` answers with schemas.
  const schemasOnly = (key: string, part: unknown) => (key === 'examples' ? undefined : part);
  const closed = (value: unknown): number =>
    JSON.stringify(value, schemasOnly).split('"additionalProperties":false').length - 1;
  const { Post, NewPost, ApiError } = published.components.schemas;
  t.deepEqual([closed(Post), closed(ApiError), closed(published.webhooks)], [0, 0, 0]);
  t.true(closed(NewPost) > 0);
  t.deepEqual(NewPost, contract.document.components['schemas']?.['NewPost']);
  for (const { path, method } of calls) {
    const { responses, requestBody } = published.paths[path][method];
    t.is(closed(responses), 0, `${method} ${path}`);
    t.deepEqual(requestBody, contract.document.paths[path]?.[method]?.requestBody);
  }

  t.is(closed(published.components.responses), 0);
  t.true(closed(contract.document.components['schemas']?.['Post']) > 0);
});

test('no schema is shared by requests and responses if it would be wrong for one of them', (t) => {
  const used = (place: (operation: Operation) => unknown): Set<string> => {
    const found = new Set<string>();
    const collect = (value: unknown): void => {
      for (const [, name = ''] of JSON.stringify(value ?? null).matchAll(/schemas\/(\w+)"/gv)) {
        if (!found.has(name)) {
          found.add(name);
          collect(contract.document.components['schemas']?.[name]);
        }
      }
    };
    calls.forEach(({ operation }) => collect(place(operation)));
    return found;
  };
  const asked = used(({ requestBody, parameters }) => [requestBody, parameters]);
  const answered = used(({ responses }) => responses);
  t.true(asked.size > 0);
  // An enum is open where an answer refers to it.
  const isEnum = (name: string) => 'enum' in published.components.schemas[name];
  t.deepEqual(
    [...asked].filter((name) => answered.has(name) && !isEnum(name)),
    [],
  );
});
