// Users, roles, groups and keys, as the API answers them.

export interface User {
  id: number;
  email: string;
  status: 'invited' | 'unconfirmed' | 'active' | 'suspended';
  email_confirmed_at: string | null;
  last_sign_in_at: string | null;
  role_ids: number[];
  group_ids: number[];
  metadata: Record<string, unknown>;
  created_at: string;
}

export interface UserSession {
  id: number;
  last_used_at: string;
  address: string | null;
  user_agent: string | null;
  is_current: boolean;
}

export type FieldAction = 'read' | 'create' | 'update';

export interface FieldRule {
  entity: string;
  action: FieldAction;
  fields: string[];
}

/** The rights that a role gives. */
export interface Rights {
  is_admin: boolean;
  api_access: boolean;
  permissions: string[];
  field_access: FieldRule[];
}

export interface Role extends Rights {
  id: number;
  name: string;
  description: string | null;
  is_default: boolean;
}

export interface Group {
  id: number;
  name: string;
  description: string | null;
  role_ids: number[];
  member_count: number;
  created_at: string;
}

export interface Member {
  user_id: number;
  email: string;
  created_at: string;
}

export interface ApiKey {
  id: number;
  name: string;
  prefix: string;
  user_id: number;
  permissions: string[];
  expires_at: string;
  last_used_at: string | null;
  created_at: string;
}

export interface Profile {
  user_id: number;
  display_name: string | null;
  locale: string | null;
  timezone: string | null;
  preferences: Record<string, unknown>;
}
