// The data model and the caller's rights, as the API answers them.

/** Properties of a field that operators of filters ask for. */
export type Fits = 'any' | 'set' | 'order' | 'text';

const TEXT: readonly Fits[] = ['text', 'set', 'order', 'any'];
const ORDERED: readonly Fits[] = ['set', 'order', 'any'];
const SET: readonly Fits[] = ['set', 'any'];

/** The types of fields, and the operators that fit each. areas/data/kinds.ts and areas/model/lines.ts have a row for each, too. */
const TYPES = {
  varchar: TEXT, text: TEXT,
  integer: ORDERED, float: ORDERED, decimal: ORDERED, date: ORDERED, datetime: ORDERED, time: ORDERED, enum: ORDERED,
  bool: SET, uuid: SET, file: SET, relation: SET,
  json: ['any'],
  secret: [],
} satisfies Record<string, readonly Fits[]>;

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
export const TIME_OF_DAY = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?$/;

export type FieldType = keyof typeof TYPES;
export const fitsOf = (type: FieldType): readonly Fits[] => TYPES[type] ?? [];

export interface Field {
  name: string;
  type: FieldType;
  required: boolean;
  unique: boolean;
  indexed: boolean;
  default: unknown;
  searchable?: boolean;
  public?: boolean;
  /** The service sets the field: id, created_at, updated_at, created_by. */
  isSystem?: boolean;
  options: { max_length?: number; min?: number; max?: number; enum?: string; entity?: string; many?: boolean };
}

export interface Entity {
  id: number;
  name: string;
  label: string | null;
  row_level_security: boolean;
  public_read: boolean;
  searchable: boolean;
  history: boolean;
  history_days?: number | null;
  fields: Field[];
}

export interface Enumeration {
  name: string;
  values: string[];
}

export interface Me {
  id: number;
  email: string;
  permissions: string[];
  field_access: { entity: string; action: string; fields: string[] }[];
  is_admin: boolean;
  api_access: boolean;
}

export interface Page<T> {
  items: T[];
  total_items: number;
  has_next_page: boolean;
  next_cursor?: string | null;
}

export type EntityAction = 'read' | 'create' | 'update' | 'delete';

const system = (name: string, type: FieldType): Field => ({
  name, type, required: true, unique: name === 'id', indexed: name === 'id', default: null, isSystem: true, options: {},
});
const SYSTEM_FIELDS: readonly Field[] = [
  system('id', 'integer'), system('created_at', 'datetime'), system('updated_at', 'datetime'), system('created_by', 'integer'),
];

/** The fields of a record in the order of a grid: the id, the fields of the entity, the fields that the service sets. */
export function fieldsOf(entity: Entity): Field[] {
  const [id, ...rest] = SYSTEM_FIELDS;
  return [id!, ...entity.fields, ...rest];
}

export function findField(entity: Entity, name: string): Field | undefined {
  return fieldsOf(entity).find((field) => field.name === name);
}

/** The field that names a record to a reader: the first of these names, else the first text, else the id. */
export function labelField(entity: Entity): Field {
  const texts = entity.fields.filter((field) => field.type === 'varchar');
  return ['name', 'title', 'label'].map((name) => texts.find((field) => field.name === name)).find((field) => field)
    ?? texts[0] ?? SYSTEM_FIELDS[0]!;
}

export function entityLabel(entity: Entity): string {
  return entity.label ?? entity.name;
}

export function can(me: Me | undefined, permission: string): boolean {
  return me?.permissions.includes(permission) ?? false;
}

export function canEntity(me: Me | undefined, entity: string, action: EntityAction): boolean {
  return can(me, `${entity}:${action}`) && me!.api_access;
}

/** A field rule lists the fields that are open. Without a rule for the action all fields are open. */
export function canField(me: Me | undefined, entity: string, field: Field, action: 'create' | 'update'): boolean {
  if (field.isSystem || !canEntity(me, entity, action)) return false;
  const rule = me!.field_access.find((each) => each.entity === entity && each.action === action);
  return !rule || rule.fields.includes(field.name);
}
