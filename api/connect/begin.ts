import { randomBytes } from 'node:crypto';
import { checkValues } from '../../accounts/connecting/values.ts';
import type { ConnectLink } from '../../db/entities/connect-link.ts';
import type { OauthEntry } from '../../networks/oauth/contract.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import type { ApiDeps } from '../deps.ts';
import { moveLink, sealFlow } from './links.ts';
import { redirectUri } from '../../accounts/connecting/redirect-uri.ts';
import { oauthContextOf, needsConfirmation, oauthEntryOf } from './oauth-entry.ts';
import { Problem } from './problem.ts';

/** The field's label on the page. */
const labelIn =
  ({ fields }: OauthEntry) =>
  (name: string): string =>
    `"${fields[name]?.label ?? name}"`;

/** One step of the connection in a browser. */
export type ConnectStep = {
  readonly link: ConnectLink;
  /** The link's token. */
  readonly token: string;
  /** The secret of the browser's cookie. */
  readonly browser: string;
};

/**
 * Begins an authorization for this browser. Answers to an earlier authorization of the link are then refused.
 *
 * @param given Keyed by field name; overrides the values of the link.
 * @returns the network's authorization URL.
 * @throws Problem, OauthError, AppError `invalid_request`. The link is unchanged.
 */
export async function beginConnecting(
  deps: ApiDeps,
  { link, token, browser }: ConnectStep,
  { confirmed, ...given }: Readonly<Record<string, string>>,
): Promise<string> {
  const { platform, atSandbox } = link;
  const entry = oauthEntryOf(deps, link);
  if (needsConfirmation(entry, link) && confirmed !== 'yes') {
    throw new Problem('invalid', 'Tick the box to confirm that the workspace may publish for you.');
  }

  const values = { ...link.values, ...checkValues(platform, entry, given, labelIn(entry)) };
  for (const [name, { label, required }] of Object.entries(entry.fields)) {
    if (required && !atSandbox && values[name] === undefined) {
      throw new Problem('invalid', `"${label}" is missing.`);
    }
  }

  const oauth = await entry.load();
  const begun = await oauth.begin({
    ...oauthContextOf(deps, link),
    values,
    state: randomBytes(32).toString('base64url'),
    redirectUriFor: (server) => redirectUri(deps.publicUrl, platform, server),
  });
  const hasMoved = await moveLink(
    deps.orm.em.fork(),
    { link, from: ['open', 'authorizing'] },
    deps.now(),
    {
      status: 'authorizing',
      state_hash: sha256Hex(begun.state),
      browser_hash: sha256Hex(browser),
      redirect_uri: begun.redirectUri,
      sealed_flow: sealFlow(deps.sealer, link, { token, kept: begun.kept }),
      error: null,
      error_code: null,
    },
  );
  if (!hasMoved) {
    throw new Problem('used', 'This link was used in the meantime.');
  }

  return begun.url;
}
