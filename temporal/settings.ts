import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { loadClientConfigProfile, toClientOptions } from '@temporalio/envconfig';
import { ConfigError, type Env } from '../runtime/config/settings.ts';

type Profile = ReturnType<typeof loadClientConfigProfile>;

/**
 * Returns the connection options, from the variables that Temporal's own tools read: `TEMPORAL_ADDRESS`,
 * `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS…`, `TEMPORAL_PROFILE`, `TEMPORAL_CONFIG_FILE`.
 *
 * @throws ConfigError with one line per invalid setting.
 */
export function temporalOptions(env: Env = process.env) {
  const problems: string[] = [];
  const profile = loadProfile(env, problems);
  checkAddress(profile.address, problems);
  checkSwitch(env, problems);
  checkCertificates(profile.tls, problems);
  if (problems.length > 0) {
    throw new ConfigError(problems);
  }

  const { connectionOptions, namespace } = toClientOptions(profile);
  return { connectionOptions, namespace: namespace ?? 'default' };
}

function loadProfile(env: Env, problems: string[]): Profile {
  // Not our own names: each that is read counts as known.
  const names = Object.keys(env).filter((name) => !name.startsWith('PUNCTUAL_'));
  const set = names.flatMap((name) => (env[name] ? [[name, env[name]]] : []));
  const { TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: profile } = env;
  if (file && !existsSync(file)) {
    problems.push(`TEMPORAL_CONFIG_FILE: there is no file ${file}. Correct the path or unset it.`);
    return {};
  }

  try {
    return loadClientConfigProfile({ overrideEnvVars: Object.fromEntries(set) });
  } catch (error) {
    const said = firstLine(error);
    problems.push(
      said.includes('not found in config data')
        ? `TEMPORAL_PROFILE: ${file ?? "Temporal's configuration file"} has no profile "${profile}". Correct the name or add the profile.`
        : `TEMPORAL_CONFIG_FILE: ${file ?? "Temporal's configuration file"} cannot be used: ${said}. It needs a table [profile.default], as Temporal's documentation of environment configuration says.`,
    );
    return {};
  }
}

function checkAddress(address: string | undefined, problems: string[]): void {
  if (address !== undefined && !/^(?:\[[0-9a-f.:]+\]|[^\s:\/@]+)(?::\d{1,5})?$/iv.test(address)) {
    problems.push(
      `TEMPORAL_ADDRESS must be a host and a port such as temporal.example:7233, not "${address}". It has no scheme; TEMPORAL_TLS=true switches TLS on.`,
    );
  }
}

/** The library treats every other value as "no TLS". */
function checkSwitch({ TEMPORAL_TLS: given = '' }: Env, problems: string[]): void {
  if (!['', '0', '1', 'false', 'true'].includes(given)) {
    problems.push(`TEMPORAL_TLS must be true or false, not "${given}".`);
  }
}

function checkCertificates(tls: Profile['tls'], problems: string[]): void {
  if (!tls || tls.disabled) {
    return;
  }

  const read = (name: string, source: typeof tls.clientCert, parse: (pem: string) => unknown) => {
    if (!source) {
      return;
    }

    const setting = `TEMPORAL_TLS_${name}_${'path' in source ? 'PATH' : 'DATA'}`;
    try {
      parse(
        'path' in source ? readFileSync(source.path, 'utf8') : Buffer.from(source.data).toString(),
      );
    } catch (error) {
      const where = 'path' in source ? ` (${source.path})` : '';
      problems.push(`${setting}${where} cannot be read as PEM: ${firstLine(error)}.`);
    }
  };
  read('SERVER_CA_CERT', tls.serverCACert, (pem) => new X509Certificate(pem));
  read('CLIENT_CERT', tls.clientCert, (pem) => new X509Certificate(pem));
  read('CLIENT_KEY', tls.clientKey, createPrivateKey);
  if (Boolean(tls.clientCert) !== Boolean(tls.clientKey)) {
    problems.push(
      'TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH belong together: set both or neither.',
    );
  }
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]?.replace(/\.$/v, '') ??
  '';
