// Whether the caller may make a call. A control that is not possible shows the reason, and the page that explains the reason.
import { explainLoad, explainPath } from '../../api/explain.ts';
import type { Method } from '../../api/http.ts';
import { can, type Me } from '../../api/model.ts';
import { useLoad } from '../../api/query.ts';
import type { Session } from '../../api/session.svelte.ts';
import { t } from '../../strings/strings.en.ts';

export interface Gate {
  off?: string | undefined;
  why?: string | undefined;
}

export function gateOf(session: Session, me: Me, permission: string, method: Method, path: string): Gate {
  if (can(me, permission)) return {};
  return { off: t('needs', { permission }), why: explainPath(session.project, { method, path }) };
}

interface Request {
  session: Session;
  me: Me;
  permission: string;
  method: Method;
  path: string;
}

/** The service also refuses changes of an object whose rights the caller does not hold, so this requests the answer for the object. */
export function useGate(request: () => Request): () => Gate {
  const mayAsk = () => can(request().me, request().permission) && !request().me.is_admin;
  const answer = useLoad(() => request().session.project, () => {
    const { method, path } = request();
    return explainLoad({ method, path }, !mayAsk());
  });
  return () => {
    const { session, me, permission, method, path } = request();
    const gate = gateOf(session, me, permission, method, path);
    if (gate.off || !mayAsk() || answer.data?.allowed) return gate;
    return { off: answer.data?.reason ?? answer.error?.message ?? t('loading'), why: explainPath(session.project, { method, path }) };
  };
}
