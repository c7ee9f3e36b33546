// States of jobs and of their steps: an icon, a word, a tone. And the actions of steps.
import Ban from '@lucide/svelte/icons/ban';
import CircleCheck from '@lucide/svelte/icons/circle-check';
import CircleDashed from '@lucide/svelte/icons/circle-dashed';
import CircleSlash from '@lucide/svelte/icons/circle-slash';
import CircleX from '@lucide/svelte/icons/circle-x';
import Clock from '@lucide/svelte/icons/clock';
import CodeXml from '@lucide/svelte/icons/code-xml';
import Database from '@lucide/svelte/icons/database';
import FilePen from '@lucide/svelte/icons/file-pen';
import FilePlus from '@lucide/svelte/icons/file-plus';
import FileSearch from '@lucide/svelte/icons/file-search';
import FileX from '@lucide/svelte/icons/file-x';
import Globe from '@lucide/svelte/icons/globe';
import LoaderCircle from '@lucide/svelte/icons/loader-circle';
import Mail from '@lucide/svelte/icons/mail';
import Plug from '@lucide/svelte/icons/plug';
import Send from '@lucide/svelte/icons/send';
import Split from '@lucide/svelte/icons/split';
import Square from '@lucide/svelte/icons/square';
import Unplug from '@lucide/svelte/icons/unplug';
import type { Component } from 'svelte';
import type { LinkName } from './graph.ts';
import { f } from './strings.en.ts';

type Icon = Component<{ size?: number }>;
export type RunStatus = 'queued' | 'running' | 'waiting' | 'sent' | 'succeeded' | 'failed' | 'skipped' | 'interrupted' | 'cancelled';
export type Tone = 'ok' | 'error' | 'warn' | 'busy' | 'quiet';

export const runStates: Record<RunStatus, { text: string; icon: Icon; tone: Tone }> = {
  queued: { text: f('queued'), icon: CircleDashed, tone: 'quiet' },
  running: { text: f('running'), icon: LoaderCircle, tone: 'busy' },
  waiting: { text: f('waiting'), icon: Clock, tone: 'busy' },
  sent: { text: f('sent'), icon: LoaderCircle, tone: 'busy' },
  succeeded: { text: f('succeeded'), icon: CircleCheck, tone: 'ok' },
  failed: { text: f('failed'), icon: CircleX, tone: 'error' },
  skipped: { text: f('skipped'), icon: CircleSlash, tone: 'quiet' },
  interrupted: { text: f('interrupted'), icon: Unplug, tone: 'warn' },
  cancelled: { text: f('cancelled'), icon: Ban, tone: 'warn' },
};

/** The state of a step in a run. */
export interface StepState {
  status: RunStatus;
  /** Such as the duration. */
  note?: string | undefined;
}

const actions: Record<string, { title: string; icon: Icon }> = {
  CreateData: { title: f('createData'), icon: FilePlus },
  ReadData: { title: f('readData'), icon: FileSearch },
  UpdateData: { title: f('updateData'), icon: FilePen },
  DeleteData: { title: f('deleteData'), icon: FileX },
  BulkCreateData: { title: f('bulkCreateData'), icon: Database },
  Condition: { title: f('condition'), icon: Split },
  RunScript: { title: f('runScript'), icon: CodeXml },
  CallAnApi: { title: f('callAnApi'), icon: Globe },
  RunIntegration: { title: f('runIntegration'), icon: Plug },
  SendPushNotification: { title: f('sendPushNotification'), icon: Send },
  SendEmail: { title: f('sendEmail'), icon: Mail },
};

/** An action that this console does not know keeps its name. */
export function actionOf(name: string): { title: string; icon: Icon } {
  return actions[name.replaceAll(' ', '')] ?? { title: name, icon: Square };
}

export const linkTexts: Record<LinkName, string> = { next: f('next'), then: f('then'), else: f('else'), on_failure: f('onFailure') };
