import { exampleOf } from './example-of.ts';
import type { Route } from '../http/route.ts';

/** A sample of a call, as readers of the document expect it in `x-codeSamples`. */
type Sample = { readonly lang: string; readonly label: string; readonly source: string };

type Call = {
  readonly route: Route;
  readonly schema: string | undefined;
  readonly body: object | undefined;
};

/** The call by curl, the TypeScript SDK and the client that `docs/guides/python.md` makes. */
export function samplesOf(route: Route, schema: string | undefined): Sample[] {
  const example =
    Object.values(route.bodyExamples ?? {})[0]?.value ??
    (route.body ? (exampleOf(route.body) as object) : {});
  const call = { route, schema, body: route.body === undefined ? undefined : example };
  return [
    { lang: 'Shell', label: 'curl', source: curl(call) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(call) },
    { lang: 'Python', label: 'Python', source: python(call) },
  ];
}

const sampleId = '0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d';
const sampleTime = '2027-03-01T00:00:00Z';

const isUpload = ({ route }: Call): boolean => route.bodyKind === 'multipart';
const idsIn = (path: string): number => path.split('{').length - 1;

/** Names of the query parameters that the call needs: times. */
const neededQuery = ({ route }: Call): string[] =>
  Object.entries(route.query ?? {}).flatMap(([name, { required }]) => (required ? [name] : []));

function curl(call: Call): string {
  const { method, path } = call.route;
  const query = neededQuery(call).map((name) => `?${name}=${sampleTime}`);
  const address = path.replaceAll(/\{\w+\}/gv, sampleId) + query.join('');
  const sent = isUpload(call)
    ? ["-F file=@photo.jpg -F 'alt_text=The harbour'"]
    : call.body
      ? ["-H 'Content-Type: application/json'", `-d '${json(call.body).replaceAll("'", "'\\''")}'`]
      : [];
  const verb = method === 'get' ? '' : `-X ${method.toUpperCase()} `;
  return [
    `curl ${verb}"$PUNCTUAL_URL/api/v1${address}"`,
    '-H "Authorization: Bearer $PUNCTUAL_API_KEY"',
    ...sent,
  ].join(' \\\n  ');
}

/** Methods of the SDK that are not named after the call, as `posts.create` is after `createPost`. */
const otherMethods: Readonly<Record<string, string>> = {
  getWorkspace: 'me',
  getUsage: 'usage',
  listNetworks: 'networks',
  getConnectLink: 'channels.link',
  getAnalytics: 'analytics.posts',
  getChannelAnalytics: 'analytics.channels',
  getBestTimes: 'analytics.bestTimes',
  getPostHistory: 'analytics.history',
  updateWebhook: 'webhooks.edit',
  listDeliveries: 'webhooks.deliveries',
  replayFailedDeliveries: 'webhooks.replayFailed',
  readWorkspace: 'workspaces.get',
  createWorkspaceKey: 'workspaces.createKey',
};

function typescript(call: Call): string {
  const { operationId, path } = call.route;
  const verb = operationId.replace(/[A-Z].*/v, '');
  const method = otherMethods[operationId] ?? `${path.split('/')[1]}.${verb}`;
  const query = neededQuery(call).map((name) => `{ ${name}: '${sampleTime}' }`);
  const body = call.body ? [json(call.body).replaceAll(/^( *)"(\w+)":/gmv, '$1$2:')] : [];
  const input = isUpload(call) ? ["'photo.jpg'", "{ alt_text: 'The harbour' }"] : body;
  const ids = Array.from({ length: idsIn(path) }, () => `'${sampleId}'`);
  return `import { Punctual } from '@punctual/client';

const punctual = new Punctual({
  apiKey: process.env.PUNCTUAL_API_KEY ?? '',
  baseUrl: process.env.PUNCTUAL_URL ?? '',
});
const answer = await punctual.${method}(${[...ids, ...input, ...query].join(', ')});`;
}

function python(call: Call): string {
  const { operationId, tag, path } = call.route;
  const name = operationId.replaceAll(/[A-Z]/gv, (letter) => `_${letter.toLowerCase()}`);
  const ids = Array.from({ length: idsIn(path) }, () => `UUID("${sampleId}")`);
  const times = neededQuery(call).map((one) => `${one}=datetime.fromisoformat("${sampleTime}")`);
  const body = isUpload(call)
    ? [`body=${call.schema}(file=File(open("photo.jpg", "rb"), "photo.jpg"))`]
    : call.body
      ? [`body=${call.schema}.from_dict(${pythonic(call.body)})`]
      : [];
  const lines = [
    'import os',
    ...(times.length > 0 ? ['from datetime import datetime'] : []),
    ...(ids.length > 0 ? ['from uuid import UUID'] : []),
    '',
    'from punctual import AuthenticatedClient',
    `from punctual.api.${tag.toLowerCase()} import ${name}`,
    ...(body.length > 0 ? [`from punctual.models import ${call.schema}`] : []),
    ...(isUpload(call) ? ['from punctual.types import File'] : []),
    '',
    'url = os.environ["PUNCTUAL_URL"]',
    'client = AuthenticatedClient(base_url=f"{url}/api/v1", token=os.environ["PUNCTUAL_API_KEY"])',
    `answer = ${name}.sync(${[...ids, 'client=client', ...body, ...times].join(', ')})`,
  ];
  return lines.join('\n');
}

const json = (value: object, indent = 2): string => JSON.stringify(value, undefined, indent);

const literals = { true: 'True', false: 'False', null: 'None' } as const;

/** Each value has a line of its own, and only texts have a quote before the end of theirs. */
const pythonic = (value: object): string =>
  json(value, 4).replaceAll(
    /(?<=^ *(?:"[^"]*": )?)(?:true|false|null)(?=,?$)/gmv,
    (literal) => literals[literal as keyof typeof literals],
  );
