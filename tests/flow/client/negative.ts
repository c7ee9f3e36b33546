// Programs that must not compile against sample.ts. Each line after a `@ts-expect-error` has exactly the error that the comment names.
import { createClient } from './client.js';

const gw = createClient('https://api.example.com/org/shop');
const { products, authors, lines, tags } = gw.db;

export async function refuseEach(): Promise<void> {
  // @ts-expect-error an unknown entity
  gw.db.product;

  // Names
  // @ts-expect-error an unknown field in a filter
  products.list({ filter: { prize: 1 } });
  // @ts-expect-error an unknown field in fields
  products.list({ fields: ['nam'] });
  // @ts-expect-error an unknown field in sort
  products.list({ sort: ['-nam'] });
  // @ts-expect-error an unknown relation in expand
  products.list({ expand: ['autor'] });
  // @ts-expect-error an unknown second step in expand
  products.list({ expand: ['author.boks'] });
  // @ts-expect-error an unknown third step in expand
  lines.list({ expand: ['product.author.boks'] });
  // @ts-expect-error an unknown second step in sort
  products.list({ sort: ['author.nam'] });
  // @ts-expect-error an unknown field of a related record in a filter
  lines.list({ filter: { product: { skew: 'A' } } });
  // @ts-expect-error a path of expand through a field that is no relation
  products.list({ expand: ['name.x'] });
  // @ts-expect-error a relation to an entity that the caller may not read
  products.list({ expand: ['maker'] });
  // @ts-expect-error an order by a relation to many records
  products.list({ sort: ['tags'] });

  // Reading
  const plain = await products.get(1);
  // @ts-expect-error reading through an id
  plain.author?.name;
  // @ts-expect-error a member that the caller may not read
  plain.pin;
  const full = await products.get(1, { expand: ['author'] });
  // @ts-expect-error a nullable relation without `?.`
  full.author.name;
  // @ts-expect-error a relation of the second step that was not expanded
  full.author?.best?.name;
  const line = await lines.get(1, { expand: ['seller'] });
  // @ts-expect-error a related record that may be hidden from the caller, without `?.`
  line.seller.name;
  const [few] = (await products.list({ fields: ['name'] })).items;
  // @ts-expect-error a field left out by fields
  few?.price;

  // Operators
  // @ts-expect-error a text operator on a number
  products.list({ filter: { price: { contains: '1' } } });
  // @ts-expect-error a text operator on a time
  products.list({ filter: { released: { starts_with: '2026' } } });
  // @ts-expect-error a text operator on a UUID
  products.list({ filter: { serial: { contains: '123' } } });
  // @ts-expect-error an order on a UUID
  products.list({ filter: { serial: { gt: '123e4567-e89b-42d3-a456-426614174000' } } });
  // @ts-expect-error a text operator on a time of day
  products.list({ filter: { opens: { starts_with: '09' } } });
  // @ts-expect-error an order on a bool
  products.list({ filter: { in_stock: { gt: false } } });
  // @ts-expect-error an order on an enum
  products.list({ filter: { level: { lt: 'high' } } });
  // @ts-expect-error an order on a file
  products.list({ filter: { image: { gte: 3 } } });
  // @ts-expect-error an order on a relation
  products.list({ filter: { author: { gt: 3 } } });
  // @ts-expect-error a value outside an enum in a filter
  products.list({ filter: { status: 'closed' } });
  // @ts-expect-error a text compared with a number
  products.list({ filter: { price: '10' } });
  // @ts-expect-error a secret in a filter
  products.list({ filter: { token: 'x' } });
  // @ts-expect-error a secret in sort
  products.list({ sort: ['token'] });
  // @ts-expect-error a json field in a filter
  products.list({ filter: { meta: {} } });
  // @ts-expect-error a json field in sort
  products.list({ sort: ['-meta'] });
  // @ts-expect-error a test for null on a field that is never null
  products.list({ filter: { name: { null: true } } });
  // @ts-expect-error null instead of the test for null
  products.list({ filter: { price: null } });

  // Writing
  // @ts-expect-error a missing required field
  products.create({ name: 'Chair' });
  // @ts-expect-error a missing required relation
  lines.create({ qty: 1, seller: 1 });
  // @ts-expect-error a member that the caller may not write
  products.update(1, { code: 'x' });
  // @ts-expect-error a member that the service sets
  products.update(1, { created_at: '2026-01-01' });
  // @ts-expect-error a misspelled member
  products.create({ name: 'Chair', sku: 'C-1', pryce: 3 });
  // @ts-expect-error null in a field that is never null
  products.update(1, { name: null });
  // @ts-expect-error null in a relation that is never null
  lines.update(1, { product: null });
  // @ts-expect-error null in a relation to many records
  products.update(1, { tags: null });
  // @ts-expect-error one id in a relation to many records
  products.update(1, { tags: 1 });
  // @ts-expect-error a value outside an enum in a write
  products.update(1, { status: 'closed' });
  // @ts-expect-error a text that is no number in a decimal
  products.update(1, { total: 'ten' });
  // @ts-expect-error on_conflict on a field that is not unique
  products.upsert([{ name: 'Desk', sku: 'D-1' }], { on_conflict: ['name'] });
  // @ts-expect-error on_conflict in an entity without unique fields
  authors.upsert([{ name: 'Ana' }], { on_conflict: ['name'] });
  // @ts-expect-error an upsert without the unique member
  tags.upsert([{}], { on_conflict: ['label'] });

  // Aggregates, live changes, files, search and sign-in
  // @ts-expect-error the sum of a text
  products.aggregate({ sum: ['name'] });
  // @ts-expect-error the value of a metric that was not requested
  (await products.aggregate({ sum: ['price'] })).items[0]?.avg;
  // @ts-expect-error a filter of another entity in live
  products.live({ label: 'new' }, () => {});
  // @ts-expect-error the record of a deletion
  products.live({}, change => change.record);
  // @ts-expect-error a file attached to a field of another type
  gw.files.upload(new Blob([]), { attach: { entity: 'products', id: 1, field: 'name' } });
  // @ts-expect-error a search in an unknown entity
  gw.search('x', { e: 'product' });
  // @ts-expect-error an invitation without a password
  gw.auth.verify({ type: 'invite', token: 'x' });
}
