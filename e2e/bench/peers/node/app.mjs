// Express behind express-rate-limit, in memory: node app.mjs PORT QUOTA.
import express from 'express';
import { rateLimit } from 'express-rate-limit';

const [port, quota] = process.argv.slice(2).map(Number);
const app = express();
// The client is the last hop of X-Forwarded-For, as everywhere in this comparison.
app.set('trust proxy', 1);
app.use(rateLimit({ windowMs: 60_000, limit: quota, standardHeaders: 'draft-8', legacyHeaders: false }));
app.get('/', (_, response) => response.json({ status: 'ok' }));
app.listen(port, '127.0.0.1');
