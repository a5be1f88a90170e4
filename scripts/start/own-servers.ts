import type { Stage } from '../parts/part.ts';
import { ensureRole, roleUrl } from '../parts/postgres-role.ts';
import { startPostgres, type DatabaseAddress } from '../parts/postgres.ts';
import { startTemporal, withoutTemporal } from '../parts/temporal.ts';
import { findTemporal } from '../programs/find-temporal.ts';
import type { DataFolder } from './data-folder.ts';
import { ranks, type StartPlan } from './start-plan.ts';

/** The URL of the embedded PostgreSQL for Punctual's processes. The server need not be running. */
export async function ownDatabaseUrl(data: DataFolder, port: number): Promise<string> {
  return roleUrl(await ownDatabase(data, port), await rolePassword(data));
}

const rolePassword = (data: DataFolder): Promise<string> =>
  data.secret('postgres-role-password', 16);

async function ownDatabase(data: DataFolder, port: number): Promise<DatabaseAddress> {
  return { port, password: await data.secret('postgres-password', 16), database: 'punctual' };
}

/** Starts the embedded PostgreSQL, unless the user has a database. @returns the database's URL. */
export async function startOwnPostgres(plan: StartPlan, stage: Stage): Promise<string> {
  const { settings, ports, data, env } = plan;
  if (settings.databaseUrl) {
    return settings.databaseUrl;
  }

  const address = await ownDatabase(data, ports.postgres);
  const superuserUrl = await startPostgres(
    {
      cluster: data.path('postgres'),
      ...address,
      logFile: data.logFile('postgres'),
      env,
      rank: ranks.postgres,
      settings: { max_connections: '80' },
    },
    stage,
  );
  await ensureRole(superuserUrl, await rolePassword(data));
  stage.say(`PostgreSQL is ready on port ${ports.postgres}.`);
  return ownDatabaseUrl(data, ports.postgres);
}

/**
 * Starts the Temporal dev server, unless the user has a server. @returns the environment of its clients, and the URL of
 * the Web UI.
 */
export async function startOwnTemporal(
  plan: StartPlan,
  stage: Stage,
): Promise<{ env: NodeJS.ProcessEnv; uiUrl: string | undefined }> {
  const { settings, ports, data, env } = plan;
  const namespace = settings.temporalNamespace;
  if (settings.temporalAddress) {
    return { env, uiUrl: settings.temporalUiUrl };
  }

  const program = await findTemporal({ env, say: stage.say, signal: stage.signal });
  await startTemporal(
    {
      program,
      namespace,
      ports: { grpc: ports.temporal, http: ports.temporalHttp, ui: ports.temporalUi },
      stateFile: data.path('temporal.db'),
      logFile: data.logFile('temporal'),
      env,
      rank: ranks.temporal,
    },
    stage,
  );
  stage.say(`Temporal is ready on port ${ports.temporal}.`);
  const uiUrl = `http://127.0.0.1:${ports.temporalUi}`;
  return {
    env: {
      ...withoutTemporal(env),
      TEMPORAL_ADDRESS: `127.0.0.1:${ports.temporal}`,
      TEMPORAL_NAMESPACE: namespace,
      PUNCTUAL_TEMPORAL_UI_URL: uiUrl,
    },
    uiUrl,
  };
}
