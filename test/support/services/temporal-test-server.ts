import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../../../scripts/run-command.ts';
import { download, downloaded } from '../../../scripts/programs/download.ts';
import {
  addToCache,
  cached,
  cacheFolder,
  findProgram,
  onPath,
  type Search,
  type Source,
} from '../../../scripts/programs/find-program.ts';
import { withProgress } from '../../../scripts/terminal.ts';

const version = '1.38.0';
/** SHA-256 of the list that `sha256sum *.jar` prints of it and all that it needs. */
const jars = '22693f3bca556caa7a865cd11c04413cfa02d97df6d996648126a9039cf671e2';
const entry = `temporal-test-server-${version}-java`;

/** The program's path inside the cache. */
export const testServerForJava = path.join(entry, 'temporal-test-server');

const copyLibraries = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';

const project = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>punctual</groupId>
  <artifactId>test-server</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>io.temporal</groupId>
      <artifactId>temporal-test-server</artifactId>
      <version>${version}</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-nop</artifactId>
      <version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
`;

/** Tells java to start fast: the SDK gives the server five seconds. */
const launcher = `#!/bin/sh
exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$(dirname "$0")/lib/*" io.temporal.testserver.TestServer "$@"
`;

/** The time-skipping test server from Maven Central, behind a small launcher. */
export const testServerFromMaven: Source = {
  name: 'Maven Central with Java 17',
  async find({ env, say, signal }) {
    const reason = await missing(env);
    if (reason) {
      return { reason };
    }

    let failure = '';
    const make = (folder: string) =>
      withProgress(
        say,
        'Fetching the time-skipping test server from Maven Central (once)',
        async () => {
          const made = path.join(folder, 'made');
          await mkdir(made);
          await writeFile(path.join(folder, 'pom.xml'), project);
          const lib = path.join(made, 'lib');
          const goal = [copyLibraries, `-DoutputDirectory=${lib}`, '-DincludeScope=runtime'];
          const result = await runCommand('mvn', ['--batch-mode', '--quiet', ...goal], {
            cwd: folder,
            env: { ...env },
            ...(signal ? { signal } : {}),
          });
          if (!result.ok) {
            failure = `${result.stdout}\n${result.stderr}`
              .trim()
              .split('\n')
              .slice(0, 5)
              .join('\n    ');
            throw new Error(failure);
          }

          const found = await checksumOf(lib);
          if (found !== jars) {
            failure = `other jars came than are meant: the SHA-256 of their list is ${found}`;
            throw new Error(failure);
          }

          const program = path.join(made, path.basename(testServerForJava));
          await writeFile(program, launcher);
          await chmod(program, 0o755);
          return made;
        },
      );
    try {
      await addToCache(env, entry, make);
      return { path: path.join(cacheFolder(env), testServerForJava) };
    } catch (error) {
      return { reason: failure || String(error) };
    }
  },
};

async function checksumOf(folder: string): Promise<string> {
  const list = createHash('sha256');
  for (const name of (await readdir(folder)).toSorted()) {
    const bytes = await readFile(path.join(folder, name));
    list.update(`${createHash('sha256').update(bytes).digest('hex')}  ${name}\n`);
  }
  return list.digest('hex');
}

async function missing(env: Search['env']): Promise<string | undefined> {
  if (!(await onPath('mvn', env))) {
    return 'no mvn on PATH';
  }

  return javaMissing(env);
}

/** Why the server could not run here: the cached program needs Java as much as the fresh one. */
export async function javaMissing(env: Search['env']): Promise<string | undefined> {
  const { ok, stdout } = await runCommand('java', ['--version'], {
    env: { ...env },
    timeoutMs: 10_000,
  });
  const [, major] = /^\S+ (\d+)/v.exec(stdout) ?? [];
  if (!ok || !major) {
    return 'no java on PATH';
  }

  return Number(major) < 17 ? `java is version ${major}; 17 or newer is needed` : undefined;
}

const advice = 'Install Java 17 or newer and Maven, or let this machine reach temporal.download.';

const fetchedBefore = cached('fetched before', testServerForJava);

const sources: readonly Source[] = [
  cached('downloaded before', downloaded('temporal-test-server')),
  {
    name: fetchedBefore.name,
    async find(search) {
      const found = await fetchedBefore.find(search);
      const reason = 'path' in found ? await javaMissing(search.env) : undefined;
      return reason ? { reason } : found;
    },
  },
  download('temporal-test-server'),
  testServerFromMaven,
];

/**
 * The path of Temporal's time-skipping test server, for `executable: { type: 'existing-path', path }`.
 *
 * @throws PlainError saying what to install.
 */
export function findTestServer(search: Search): Promise<string> {
  return findProgram('time-skipping test server', sources, search, advice);
}
