import { parseAllowList } from '../egress/allow-list.ts';
import { text, type Env } from './read-values.ts';

/**
 * The holes that the operator made in the guard on the way out. What is handy on a developer's machine is dangerous
 * where strangers choose the addresses, so in production a list counts only together with a word that it is meant.
 */
export function egressAllow(env: Env, problems: string[]): string {
  const given = text(env, 'PUNCTUAL_EGRESS_ALLOW', '');
  try {
    parseAllowList(given);
  } catch (error) {
    problems.push(`PUNCTUAL_EGRESS_ALLOW: ${error instanceof Error ? error.message : 'wrong'}`);
  }

  const isProduction = text(env, 'NODE_ENV', '') === 'production';
  const isMeant = text(env, 'PUNCTUAL_EGRESS_ALLOW_IN_PRODUCTION', '') === 'yes';
  if (given !== '' && isProduction && !isMeant) {
    problems.push(
      'PUNCTUAL_EGRESS_ALLOW opens addresses that are not public, and NODE_ENV says that this is production: take the list away, or set PUNCTUAL_EGRESS_ALLOW_IN_PRODUCTION=yes if it is meant.',
    );
  }

  return given;
}
