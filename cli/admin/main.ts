import { version } from '../../runtime/version.ts';
import { runApplication } from '../run-application.ts';
import { adminRoutes } from './routes.ts';

// `npm run admin -- …`.

const words = process.argv.slice(2);
const names = { name: 'npm run admin --', version };
process.exitCode = await runApplication(adminRoutes(), names, words);
