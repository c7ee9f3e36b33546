// The kinds of triggers, as common/core/catalog/trigger.def has them.
import AlarmClock from '@lucide/svelte/icons/alarm-clock';
import Bell from '@lucide/svelte/icons/bell';
import Hand from '@lucide/svelte/icons/hand';
import Webhook from '@lucide/svelte/icons/webhook';
import type { Component } from 'svelte';
import type { Entity } from '../../api/model.ts';
import type { Trigger } from './definition.ts';
import { w } from './strings.en.ts';

export interface TriggerKind {
  name: Trigger['kind'];
  title: string;
  about: string;
  icon: Component<{ size?: number }>;
  make: (entities: readonly Entity[]) => Trigger;
  /** In a list. */
  summary: (trigger: Trigger) => string;
}

export const triggerKinds: readonly TriggerKind[] = [
  {
    name: 'event', title: w('kindEvent'), about: w('kindEventAbout'), icon: Bell,
    make: (entities) => ({ kind: 'event', event: 'EntityCreated', ...(entities[0] ? { entity: entities[0].name } : {}) }),
    summary: (trigger) => [trigger.entity, trigger.event?.replace(/^Entity/, '').replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`).toLowerCase()].filter(Boolean).join(' '),
  },
  { name: 'timed', title: w('kindTimed'), about: w('kindTimedAbout'), icon: AlarmClock, make: () => ({ kind: 'timed', cron: '0 8 * * *', timezone: Intl.DateTimeFormat().resolvedOptions().timeZone }), summary: (trigger) => `${trigger.cron ?? ''} ${trigger.timezone ?? 'UTC'}` },
  { name: 'api', title: w('kindApi'), about: w('kindApiAbout'), icon: Webhook, make: () => ({ kind: 'api', route: '' }), summary: (trigger) => `POST …/${trigger.route ?? ''}` },
  { name: 'manual', title: w('kindManual'), about: w('kindManualAbout'), icon: Hand, make: () => ({ kind: 'manual' }), summary: () => w('kindManual') },
];

export function triggerSummary(trigger: Trigger): string {
  return triggerKinds.find((kind) => kind.name === trigger.kind)?.summary(trigger) ?? trigger.kind;
}

export const PRESETS: readonly (readonly [cron: string, text: string])[] = [
  ['*/5 * * * *', w('everyFive')],
  ['0 * * * *', w('everyHour')],
  ['0 8 * * *', w('everyDay')],
  ['0 8 * * mon-fri', w('everyWorkday')],
  ['0 8 * * mon', w('everyMonday')],
  ['0 8 1 * *', w('everyMonth')],
];
