import { Validator } from '@seriousme/openapi-schema-validator';
import test from 'ava';
import { allRoutes } from '../../api/app.ts';
import type { ApiDeps } from '../../api/deps.ts';
import { mount } from '../../api/http/mount.ts';
import { openAnswers } from '../../api/openapi/open-answers.ts';
import { startApi } from '../support/punctual.ts';
import { Contract, type Operation } from '../support/contract.ts';
import { ourDocument } from '../support/our-document.ts';
import { rawCall } from '../support/raw-call.ts';

const document = JSON.parse(JSON.stringify(ourDocument()));
const published = JSON.parse(JSON.stringify(openAnswers(document)));

/** Every object in the document, with the tokens of its JSON pointer. */
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

test('the document is valid OpenAPI 3.1, as it is published and as strictly as we test', async (t) => {
  for (const one of [published, document]) {
    t.deepEqual(await new Validator().validate(structuredClone(one)), { valid: true });
  }

  const broken = structuredClone(document);
  delete broken.paths['/me'].get.responses[200].description;
  t.false((await new Validator().validate(broken)).valid);
});

test('anybody can read the document, and a second look costs no download', async (t) => {
  const { url } = await startApi(t);
  const reply = await rawCall(`${url}/openapi.json`);
  t.is(reply.status, 200);
  t.is(reply.headers.get('content-type'), 'application/json; charset=utf-8');
  t.deepEqual(reply.body, published);

  // Browsers ask so; without the second header, fetch would ask for a fresh copy.
  const ask = (etag: string) => ({
    headers: { 'if-none-match': etag, 'cache-control': 'max-age=0' },
  });
  const again = await rawCall(`${url}/openapi.json`, ask(reply.headers.get('etag') ?? ''));
  t.is(again.status, 304);
  t.is((await rawCall(`${url}/openapi.json`, ask('"other"'))).status, 200);
});

test('every call that the server takes is in the document, and no other', (t) => {
  const router = mount(allRoutes({} as ApiDeps), () => {
    throw new Error('No call is made here.');
  });
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

test('a generated client gets one name per call, and knows each path parameter', (t) => {
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

test('every reference leads somewhere, and nothing is described for nobody', (t) => {
  const references = [...objects()].flatMap(([{ $ref }]) =>
    typeof $ref === 'string' ? [$ref] : [],
  );
  const components = Object.entries(document.components)
    .filter(([kind]) => kind !== 'securitySchemes')
    .flatMap(([kind, named]) =>
      Object.keys(named as object).map((name) => `#/components/${kind}/${name}`),
    );
  // A call that exists never answers 405: it is there for those who call what does not.
  const unreferenced = '#/components/responses/method_not_allowed';
  t.deepEqual([...new Set([...references, unreferenced])].toSorted(), components.toSorted());
});

test('every body has an example, and every example fits its schema', async (t) => {
  const { url } = await startApi(t);
  const contract = await Contract.of(url);
  const checked = { bodies: 0, values: 0 };
  for (const [{ schema, examples }, pointer] of objects()) {
    if (pointer.at(-1) === 'application/json') {
      const values = Object.values((examples ?? {}) as Record<string, { value: unknown }>);
      t.true(values.length > 0, pointer.join(' '));
      for (const { value } of values) {
        t.deepEqual(contract.faults([...pointer, 'schema'], value), [], pointer.join(' '));
        checked.bodies += 1;
      }
    }

    for (const value of (schema as { examples?: unknown[] } | undefined)?.examples ?? []) {
      t.deepEqual(contract.faults([...pointer, 'schema'], value), [], pointer.join(' '));
      checked.values += 1;
    }
  }

  t.true(checked.bodies >= 30, `only ${checked.bodies} bodies were looked at`);
  t.true(checked.values >= 4, `only ${checked.values} other values were looked at`);
});
