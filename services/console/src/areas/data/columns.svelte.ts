// The columns of a grid, which the browser remembers for each entity.
import { fieldsOf, findField, type Entity, type Field } from '../../api/model.ts';
import { readColumns, writeColumns, type ColumnChoice } from '../../api/records.ts';
import { kinds } from './kinds.ts';

const LEAST_WIDTH = 60;
const ID_WIDTH = 80;
export const STEP = 40;

export class Columns {
  choice = $state.raw<ColumnChoice[]>([]);
  readonly #project: string;
  readonly #entity: Entity;

  constructor(project: string, entity: Entity) {
    this.#project = project;
    this.#entity = entity;
    this.choice = readColumns(project, entity);
  }

  find(name: string): ColumnChoice | undefined {
    return this.choice.find((each) => each.name === name);
  }

  fields(entity: Entity): Field[] {
    return this.choice.map((column) => findField(entity, column.name)).filter((field) => field !== undefined);
  }

  width(field: Field): number {
    return this.find(field.name)?.width ?? (field.name === 'id' ? ID_WIDTH : kinds[field.type].width);
  }

  toggle(name: string): void {
    const isShown = this.find(name) !== undefined;
    if (isShown && this.choice.length === 1) return;
    const order = fieldsOf(this.#entity).map((field) => field.name);
    const at = this.choice.findIndex((each) => order.indexOf(each.name) > order.indexOf(name));
    this.#set(isShown ? this.choice.filter((each) => each.name !== name) : this.choice.toSpliced(at < 0 ? this.choice.length : at, 0, { name }));
  }

  move(name: string, by: number): void {
    const at = this.choice.findIndex((each) => each.name === name);
    this.#set(this.choice.toSpliced(at, 1).toSpliced(at + by, 0, this.choice[at]!));
  }

  setWidth(name: string, width: number): void {
    this.#change(name, { width: Math.max(LEAST_WIDTH, width) });
  }

  setMetric(name: string, metric: string | undefined): void {
    this.#change(name, { metric });
  }

  #change(name: string, values: Partial<ColumnChoice>): void {
    this.#set(this.choice.map((each) => (each.name === name ? { ...each, ...values } : each)));
  }

  #set(choice: ColumnChoice[]): void {
    this.choice = choice;
    writeColumns(this.#project, this.#entity.name, choice);
  }
}
