import { Contract, ourDocument, type Reply } from './contract.ts';

const prefix = '/api/v1';
const notAllowed = ['components', 'responses', 'method_not_allowed'];

let made: { contract: Contract; templates: readonly Template[] } | undefined;
type Template = { readonly path: string; readonly matches: RegExp };

/** The contract as the code has it. */
function ours(): { contract: Contract; templates: readonly Template[] } {
  if (!made) {
    const contract = new Contract(ourDocument());
    const templates = Object.keys(contract.document.paths).map((path) => ({
      path,
      matches: new RegExp(`^${path.replaceAll(/\{\w+\}/gv, String.raw`[^\/]+`)}$`, 'v'),
    }));
    made = { contract, templates };
  }

  return made;
}

/**
 * Throws unless the answer is as the schema of its route and status says, with its headers and its code. Whatever
 * a test calls goes through this, so that no answer of any test can stray from the document unseen.
 */
export function checkAnswer(method: string, url: string, reply: Reply): void {
  const { pathname } = new URL(url);
  if (!pathname.startsWith(`${prefix}/`) || ['HEAD', 'OPTIONS'].includes(method)) {
    return; // Not of the contract, or without a body.
  }

  const faults = faultsOf(method.toLowerCase(), pathname.slice(prefix.length), reply);
  if (faults.length > 0) {
    throw new Error(
      [`The answer ${reply.status} to ${method} ${url} strays:`, ...faults].join('\n  '),
    );
  }
}

function faultsOf(method: string, pathname: string, reply: Reply): string[] {
  const { contract, templates } = ours();
  // A path of its own comes before one that would take its last word for an id.
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

  const schema = ['components', 'schemas', 'Error'];
  return reply.status === 404
    ? contract.faults(schema, reply.body)
    : [
        `${method} ${pathname} is no call of the API, and is answered ${JSON.stringify(reply.body)}`,
      ];
}
