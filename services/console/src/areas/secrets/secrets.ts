// Secrets, and the steps of workflows that name a secret.

export interface Secret {
  name: string;
  version: number;
  allowed_hosts: string[] | null;
  created_at: string;
  updated_at: string;
}

export interface Workflow {
  id: number;
  name: string;
  enabled: boolean;
  steps: { key: string; params?: unknown }[];
}

export interface Use {
  workflow: Workflow;
  steps: string[];
}

/** Not the name of a secret: a name has no hyphen. */
export const NEW = 'new-secret';

export const secretPath = (name: string) => `/secrets/${encodeURIComponent(name)}`;
export const expressionOf = (name: string) => `{{ $svc.secrets.${name} }}`;

/** The workflows with steps that name a secret. */
export function findUses(workflows: readonly Workflow[], name: string): Use[] {
  const named = new RegExp(`\\$svc\\.secrets\\.${name}(?![A-Za-z0-9_])`);
  return workflows
    .map((workflow) => ({ workflow, steps: workflow.steps.filter((step) => named.test(JSON.stringify(step.params ?? null))).map((step) => step.key) }))
    .filter((use) => use.steps.length > 0);
}

/** The hosts of a text with one host on each line; null for an empty text, which allows any host. */
export function readHosts(text: string): string[] | null {
  const hosts = text.split(/[\s,]+/).filter((host) => host !== '');
  return hosts.length > 0 ? hosts : null;
}
