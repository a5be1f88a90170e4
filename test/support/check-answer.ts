import { Contract, ourDocument, type Reply } from './contract.ts';

const prefix = '/api/v1';
const notAllowed = ['components', 'responses', 'method_not_allowed'];

let made: { contract: Contract; templates: readonly Template[] } | undefined;
type Template = { readonly path: string; readonly matches: RegExp };

/** The contract of the current code, with any network. */
function ours(): { contract: Contract; templates: readonly Template[] } {
  if (!made) {
    const { components, ...document } = ourDocument();
    // Tests also connect fake networks.
    const schemas = { ...components.schemas, Platform: { type: 'string' } };
    const contract = new Contract({ ...document, components: { ...components, schemas } });
    const templates = Object.keys(contract.document.paths).map((path) => ({
      path,
      matches: new RegExp(`^${path.replaceAll(/\{\w+\}/gv, String.raw`[^\/]+`)}$`, 'v'),
    }));
    made = { contract, templates };
  }

  return made;
}

/**
 * Throws unless the answer matches the schema, headers and error code of its route and status. All calls of the tests
 * use it, so that every answer is compared with the document.
 */
export function checkAnswer(method: string, url: string, reply: Reply): void {
  const { pathname } = new URL(url);
  if (!pathname.startsWith(`${prefix}/`) || ['HEAD', 'OPTIONS'].includes(method)) {
    return; // Not part of the contract, or without a body.
  }

  const faults = faultsOf(method.toLowerCase(), pathname.slice(prefix.length), reply);
  if (faults.length > 0) {
    throw new Error(
      [
        `The answer ${reply.status} to ${method} ${url} differs from the OpenAPI document:`,
        ...faults,
      ].join('\n  '),
    );
  }
}

function faultsOf(method: string, pathname: string, reply: Reply): string[] {
  const { contract, templates } = ours();
  // A fixed path takes precedence over a template whose parameter would match its last segment.
  const fixed = templates.filter(({ path }) => path === pathname);
  const known =
    fixed.length > 0 ? fixed : templates.filter(({ matches }) => matches.test(pathname));
  const called = known.find(({ path }) => contract.document.paths[path]?.[method]);
  if (called) {
    return contract.answerFaults(called.path, method, reply);
  }

  if (reply.status === 405) {
    return contract.responseFaults(notAllowed, reply);
  }

  const schema = ['components', 'schemas', 'ApiError'];
  return reply.status === 404
    ? contract.faults(schema, reply.body)
    : [
        `${method} ${pathname} is not a call of the API, but the answer is ${JSON.stringify(reply.body)}`,
      ];
}
