import { explainDatabaseFailure } from '../../db/database-errors.ts';
import { assertSealedBy, OtherSecretKeyError } from '../../db/installation.ts';
import { assertSchema, OtherSchemaError } from '../../db/migrate.ts';
import { createOrm } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import { NetworkError } from '../../networks/network.ts';
import { openNetworks } from '../../networks/registry.ts';
import { readConfig } from '../../runtime/config/read-config.ts';
import { readSettings, ConfigError } from '../../runtime/config/settings.ts';
import { version } from '../../runtime/version.ts';
import { composeServices } from '../../services/compose.ts';
import type { Temporal } from '../../temporal/connect.ts';
import { temporalOptions } from '../../temporal/settings.ts';
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
        (await import('../../runtime/storage/create-storage.ts')).createStorage(config.media),
      openTemporal,
      now,
      ask,
    };
    return await command.run(deps, values);
  } finally {
    await Promise.all([orm.close(), services.closeEgress()]);
  }
}

/** @throws ServiceError at once if Temporal is away, so that no command does half of its work. */
async function openTemporal(): Promise<Temporal> {
  const { connectTemporal, deadlineMs } = await import('../../temporal/connect.ts');
  const temporal = connectTemporal();
  const { client, connection, close } = temporal;
  const isThere = () => connection.workflowService.getSystemInfo({});
  await client.withDeadline(Date.now() + deadlineMs * 2, isThere).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return temporal;
}

async function fail(thrown: unknown, json: boolean): Promise<number> {
  const error = isKnown(thrown) ? thrown : await describeWhenAway(thrown);
  const message = error instanceof Error ? error.message : String(error);
  if (json) {
    console.log(JSON.stringify({ error: message, code: codeOf(error) }));
  } else {
    console.error(isKnown(error) ? message : error);
  }

  return error instanceof UsageError ? 2 : 1;
}

const isKnown = (error: unknown): boolean =>
  error instanceof UsageError ||
  error instanceof ConfigError ||
  error instanceof OtherSchemaError ||
  error instanceof OtherSecretKeyError ||
  error instanceof AppError ||
  error instanceof NetworkError;

function codeOf(error: unknown): string {
  if (error instanceof OtherSecretKeyError) {
    return 'other_secret_key';
  }

  return error instanceof AppError || error instanceof NetworkError ? error.code : 'failed';
}

/** An unreachable database or Temporal, or a refused role, is an operational error and needs no stack trace. */
async function describeWhenAway(error: unknown): Promise<unknown> {
  const trouble = explainDatabaseFailure(error);
  if (trouble) {
    return new AppError('unavailable', trouble.reason);
  }

  const { isTemporalUnavailable } = await import('../../temporal/connect.ts');
  const { address } = temporalOptions().connectionOptions;
  const reason = `Temporal cannot be reached: nothing answers at ${address}, which is TEMPORAL_ADDRESS.`;
  return isTemporalUnavailable(error) ? new AppError('unavailable', reason) : error;
}

process.exitCode = await main(process.argv.slice(2));
