import { explainDatabaseFailure } from '../../db/database-errors.ts';
import { assertSealedBy, OtherSecretKeyError } from '../../db/installation.ts';
import { assertSchema, OtherSchemaError } from '../../db/migrate.ts';
import { createOrm } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import { NetworkError } from '../../networks/network.ts';
import { openNetworks } from '../../networks/registry.ts';
import { readConfig } from '../../runtime/config/read-config.ts';
import { ConfigError, readSettings } from '../../runtime/config/settings.ts';
import { composeServices } from '../../services/compose.ts';
import type { Temporal } from '../../temporal/connect.ts';
import { temporalOptions } from '../../temporal/settings.ts';
import { CommandError } from '../failures.ts';
import { ask } from '../input.ts';
import type { Answer } from '../command.ts';
import { perform, type AdminCommand, type AdminInput, type CommandDeps } from './command.ts';

const readers = { config: readConfig, networks: openNetworks, temporal: temporalOptions };

/** Runs a command on the database and Temporal of the settings. @throws CommandError */
export async function runCommand(command: AdminCommand, input: AdminInput): Promise<Answer> {
  try {
    return await perform(command, input, (run) => withDeps(command, run));
  } catch (error) {
    throw await explained(error);
  }
}

async function withDeps<T>(
  { takesAnyKey, takesLong }: AdminCommand,
  run: (deps: CommandDeps) => Promise<T>,
): Promise<T> {
  const { config, networks, temporal } = readSettings(process.env, readers);
  const database = { poolSize: 3, ...(takesLong ? { queryTimeoutMs: null } : {}) };
  const services = composeServices(config, networks, {
    orm: createOrm(config.databaseUrl, database),
    guardsNetworks: false,
  });
  const { orm, sealer, networkEgress: egress } = services;
  try {
    await assertSchema(orm);
    if (!takesAnyKey) {
      await assertSealedBy(orm, sealer.keyId);
    }

    const { publicUrl, temporalUiUrl, sandboxUrl, quotas, returnUrls } = config;
    return await run({
      orm,
      em: orm.em.fork(),
      networks,
      egress,
      sealer,
      publicUrl,
      sandboxUrl,
      workflowLink: (id) =>
        temporalUiUrl && `${temporalUiUrl}/namespaces/${temporal.namespace}/workflows/${id}`,
      quotas,
      returnUrls,
      openStorage: async () =>
        (await import('../../runtime/storage/create-storage.ts')).createStorage(config.media),
      openTemporal,
      now: () => new Date(),
      ask,
    });
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

/** An error that the message explains needs no stack trace: refusals, wrong settings, a service that is away. */
async function explained(error: unknown): Promise<unknown> {
  if (error instanceof AppError || error instanceof NetworkError) {
    const { cause, code } = error;
    const reason = code === 'unavailable' && cause instanceof Error ? ` (${cause.message})` : '';
    return new CommandError(`${error.message}${reason}`, code);
  }

  if (error instanceof OtherSecretKeyError) {
    return new CommandError(error.message, 'other_secret_key');
  }

  if (error instanceof ConfigError || error instanceof OtherSchemaError) {
    return new CommandError(error.message);
  }

  const trouble = explainDatabaseFailure(error);
  if (trouble) {
    return new CommandError(trouble.reason, 'unavailable');
  }

  const { isTemporalUnavailable } = await import('../../temporal/connect.ts');
  if (!isTemporalUnavailable(error)) {
    return error;
  }

  const { explainTemporalFailure } = await import('../../temporal/explain-failure.ts');
  const away = await explainTemporalFailure(temporalOptions())(error);
  return away ? new CommandError(away.reason, 'unavailable') : error;
}
