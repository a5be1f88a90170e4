import { writeFile } from 'node:fs/promises';
import { bundleWorkflows } from './bundle-workflows.ts';

// node worker/write-bundle.ts FILE: bundles the workflow code into a file, for PUNCTUAL_WORKFLOW_BUNDLE.

const [file] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write('usage: node worker/write-bundle.ts FILE\n');
  process.exit(1);
}

const { code } = await bundleWorkflows();
await writeFile(file, code);
