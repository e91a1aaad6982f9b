// Prints one value of a JSON text on standard input: `json.mjs user.email`, `json.mjs workspaces.0.id`.
// Strings are printed bare, `null` as null, anything else as JSON; what is absent as nothing, with exit code 1.
// Without a path it prints the keys of the object, sorted, on one line.
import { readFileSync } from 'node:fs';

let value;
try {
  value = JSON.parse(readFileSync(0, 'utf8'));
} catch (error) {
  console.error(`not JSON: ${error.message}`);
  process.exit(2);
}
const path = process.argv[2];
if (path === undefined) {
  console.log(Object.keys(value).sort().join(' '));
} else {
  for (const key of path.split('.')) value = value?.[key];
  if (value === undefined) process.exit(1);
  console.log(typeof value === 'string' ? value : JSON.stringify(value));
}
