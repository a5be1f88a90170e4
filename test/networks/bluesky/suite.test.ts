import { needs } from '../../support/needs.ts';
import { passesAsNetwork } from '../suite.ts';
import { bench } from './bench.ts';

passesAsNetwork(needs('pds'), bench);
