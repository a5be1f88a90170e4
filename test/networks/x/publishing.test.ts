import test from 'ava';
import { passesAsNetwork } from '../suite.ts';
import { bench } from './bench.ts';

passesAsNetwork(test, bench);
