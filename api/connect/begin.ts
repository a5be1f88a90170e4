import { randomBytes } from 'node:crypto';
import { checkValues } from '../../accounts/connecting/values.ts';
import type { ConnectLink } from '../../db/entities/connect-link.ts';
import type { OauthEntry } from '../../networks/oauth.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import type { ApiDeps } from '../deps.ts';
import { moveLink, sealFlow } from './links.ts';
import { redirectUri } from '../../accounts/connecting/redirect-uri.ts';
import { contextOf, mustConfirm, oauthEntryOf } from './oauth-of.ts';
import { Problem } from './problem.ts';

/** What the page calls a field. */
const labelIn =
  ({ fields }: OauthEntry) =>
  (name: string): string =>
    `"${fields[name]?.label ?? name}"`;

/** A step of a person in a browser. */
export type Step = {
  readonly link: ConnectLink;
  /** Of the link. */
  readonly token: string;
  /** The secret of the browser's cookie. */
  readonly browser: string;
};

/**
 * Begins an authorization for this browser. One that was begun with the link before is over: its answer is refused.
 *
 * @param given By the names of the network's fields; they go over what the caller said.
 * @returns the address at the network, where the person allows us in.
 * @throws Problem, OauthError, AppError `invalid_request`. The link stays as it was.
 */
export async function beginConnecting(
  deps: ApiDeps,
  { link, token, browser }: Step,
  { confirmed, ...given }: Readonly<Record<string, string>>,
): Promise<string> {
  const { platform, atSandbox } = link;
  const entry = oauthEntryOf(deps, link);
  if (mustConfirm(entry, link) && confirmed !== 'yes') {
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
    ...contextOf(deps, link),
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
