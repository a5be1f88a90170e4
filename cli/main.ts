#!/usr/bin/env node
import module from 'node:module';

// Imports the rest afterwards, so that its compiled code is kept between runs. Node 20 cannot.
module.enableCompileCache?.();
const { runCommandLine } = await import('./run-command-line.ts');
await runCommandLine(process.argv.slice(2));
