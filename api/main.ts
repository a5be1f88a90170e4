import { runApi } from './run-api.ts';

await runApi();
process.exit(0);
