// Choices of this browser: theme, single keys, the projects that were opened, the columns of grids.

function readItem<T>(key: string, otherwise: T): T {
  try {
    return (JSON.parse(localStorage.getItem(`groundwork.${key}`) ?? 'null') as T | null) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function writeItem(key: string, value: unknown): void {
  localStorage.setItem(`groundwork.${key}`, JSON.stringify(value));
}

export type Theme = 'light' | 'dark' | 'system';
const PROJECTS_MAX = 10;
const ENTITIES_MAX = 5;

class Settings {
  theme = $state<Theme>((localStorage.getItem('groundwork.theme') as Theme | null) ?? 'system');
  hasSingleKeys = $state(readItem('keys', true));
  projects = $state.raw<string[]>(readItem('projects', []));
  #recent = $state.raw<Record<string, string[]>>(readItem('recent', {}));

  constructor() {
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#apply());
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    // theme.js reads this item, as plain text, before the first paint.
    if (theme === 'system') localStorage.removeItem('groundwork.theme');
    else localStorage.setItem('groundwork.theme', theme);
    this.#apply();
  }

  setSingleKeys(has: boolean): void {
    this.hasSingleKeys = has;
    writeItem('keys', has);
  }

  addProject(project: string): void {
    this.projects = [project, ...this.projects.filter((each) => each !== project)].slice(0, PROJECTS_MAX);
    writeItem('projects', this.projects);
  }

  recentEntities(project: string): string[] {
    return this.#recent[project] ?? [];
  }

  addRecentEntity(project: string, entity: string): void {
    const others = this.recentEntities(project).filter((each) => each !== entity);
    this.#recent = { ...this.#recent, [project]: [entity, ...others].slice(0, ENTITIES_MAX) };
    writeItem('recent', this.#recent);
  }

  #apply(): void {
    const isDark = this.theme === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : this.theme === 'dark';
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
  }
}

export const settings = new Settings();
export const stored = { read: readItem, write: writeItem };
