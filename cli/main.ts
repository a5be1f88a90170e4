import { explainDatabaseFailure } from '../db/database-errors.ts';
import { assertSealedBy, OtherSecretKeyError } from '../db/installation.ts';
import { assertSchema, OtherSchemaError } from '../db/migrate.ts';
import { createOrm } from '../db/orm.ts';
import { AppError } from '../domain/errors.ts';
import { NetworkError } from '../networks/network.ts';
import { openNetworks } from '../networks/registry.ts';
import { readConfig } from '../runtime/config/read-config.ts';
import { readSettings, ConfigError } from '../runtime/config/settings.ts';
import { version } from '../runtime/version.ts';
import { composeServices } from '../services/compose.ts';
import { temporalOptions } from '../temporal/settings.ts';
import { ask, readArguments, usage, withSecret } from './arguments.ts';
import { UsageError, type Command } from './command.ts';
import { commandNamed } from './commands.ts';

const readers = { config: readConfig, networks: openNetworks, temporal: temporalOptions };

/** Runs one command of `npm run admin`. Exit codes: 0 success, 1 failure, 2 wrong arguments. */
async function main(args: readonly string[]): Promise<number> {
  const json = args.includes('--json');
  if (args[0] === '--version') {
    console.log(json ? JSON.stringify({ version }) : version);
    return 0;
  }

  try {
    const { command, values } = readArguments(args.filter((arg) => arg !== '--json'));
    const known = commandNamed(command);
    if (!known) {
      console.log(usage(values['about']));
      return 0;
    }

    const answer = await run(known, await withSecret(known, values));
    console.log(json ? JSON.stringify(answer.data) : answer.text);
    return answer.failed ? 1 : 0;
  } catch (error) {
    return fail(error, json);
  }
}

async function run(command: Command, values: Readonly<Record<string, string>>) {
  if ('runAlone' in command) {
    return command.runAlone(values);
  }

  const { config, networks, temporal } = readSettings(process.env, readers);
  const database = { poolSize: 3, ...(command.takesLong ? { queryTimeoutMs: null } : {}) };
  const services = composeServices(config, networks, {
    orm: createOrm(config.databaseUrl, database),
    guardsNetworks: false,
  });
  const { orm, sealer, networkEgress: egress } = services;
  try {
    await assertSchema(orm);
    if (!command.takesAnyKey) {
      await assertSealedBy(orm, sealer.keyId);
    }

    const { publicUrl, temporalUiUrl, sandboxUrl, quotas, returnUrls } = config;
    const now = () => new Date();
    const { namespace } = temporal;
    const workflowLink = (id: string) =>
      temporalUiUrl && `${temporalUiUrl}/namespaces/${namespace}/workflows/${id}`;
    const em = orm.em.fork();
    const deps = {
      orm,
      em,
      networks,
      egress,
      sealer,
      publicUrl,
      sandboxUrl,
      workflowLink,
      quotas,
      returnUrls,
      openStorage: async () =>
        (await import('../runtime/storage/create-storage.ts')).createStorage(config.media),
      openTemporal: async () => (await import('../temporal/connect.ts')).connectTemporal(),
      now,
      ask,
    };
    return await command.run(deps, values);
  } finally {
    await Promise.all([orm.close(), services.closeEgress()]);
  }
}

function fail(thrown: unknown, json: boolean): number {
  const error = describeWhenAway(thrown);
  const known =
    error instanceof UsageError ||
    error instanceof ConfigError ||
    error instanceof OtherSchemaError ||
    error instanceof OtherSecretKeyError ||
    error instanceof AppError ||
    error instanceof NetworkError;
  const message = error instanceof Error ? error.message : String(error);
  if (json) {
    console.log(JSON.stringify({ error: message, code: codeOf(error) }));
  } else {
    console.error(known ? message : error);
  }

  return error instanceof UsageError ? 2 : 1;
}

function codeOf(error: unknown): string {
  if (error instanceof OtherSecretKeyError) {
    return 'other_secret_key';
  }

  return error instanceof AppError || error instanceof NetworkError ? error.code : 'failed';
}

/** An unreachable database, or a refused role, is an operational error and needs no stack trace. */
function describeWhenAway(error: unknown): unknown {
  const trouble = error instanceof NetworkError ? undefined : explainDatabaseFailure(error);
  return trouble ? new AppError('unavailable', trouble.reason) : error;
}

process.exitCode = await main(process.argv.slice(2));
