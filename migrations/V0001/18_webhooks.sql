-- Events for webhooks. Triggers emit them where the rows change, so that no verb can forget.

-- One row is a webhook of a repository.
CREATE TABLE webhooks (
  webhook_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  repo_id    integer NOT NULL,
  name       text COLLATE "C" NOT NULL,
  url        text NOT NULL,
  events     text[] NOT NULL,                       -- types, or patterns of them with *
  format     text NOT NULL CHECK (format IN ('standard', 'mlflow')),
  active     boolean NOT NULL,
  secret     bytea NOT NULL,                        -- sealed with the installation's key
  created_by text COLLATE "C" NOT NULL,
  created_ms bigint NOT NULL,
  UNIQUE (repo_id, name)
);
CREATE TRIGGER webhooks_in_repository BEFORE INSERT ON webhooks FOR EACH ROW EXECUTE FUNCTION require_repository();

-- One row is a webhook of a deleted repository, which is told of the deletion and of nothing else. Background work removes
-- it when that has ended.
CREATE TABLE leaving_webhooks (LIKE webhooks, PRIMARY KEY (webhook_id));

-- One row is an event that some webhook subscribes to. Ids grow: the number is taken while the row of the ref is locked, so the
-- events of one ref are in the order of its changes. The random part tells installations apart.
CREATE SEQUENCE event_numbers;
CREATE TABLE events (
  event_id   text COLLATE "C" PRIMARY KEY,
  repo_id    integer NOT NULL,
  type       text COLLATE "C" NOT NULL,
  body       text NOT NULL,                         -- a receiver of the standard format gets it
  created_ms bigint NOT NULL
);
CREATE INDEX events_by_age ON events (created_ms);

-- One row is an event for one webhook. There are no foreign keys: a webhook that is deleted while a commit writes an event
-- must not fail the commit.
CREATE TABLE webhook_deliveries (
  event_id    text COLLATE "C" NOT NULL,
  webhook_id  integer NOT NULL,
  state       text COLLATE "C" NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead')),
  running     boolean NOT NULL DEFAULT false,       -- somebody sends it, until next_at
  next_at     timestamptz NOT NULL,                 -- when it is to be sent, or sent by somebody else
  claim       integer NOT NULL DEFAULT 0,           -- grows with every sending; who holds an older one has lost it
  attempts    integer NOT NULL DEFAULT 0,           -- since it was made or asked for again
  last_status integer,                              -- status of the newest answer; NULL: there was none
  last_error  text NOT NULL DEFAULT '',
  ended_ms    bigint,
  body        text,                                 -- set for formats other than the standard one
  PRIMARY KEY (event_id, webhook_id)
);
CREATE INDEX webhook_deliveries_listed ON webhook_deliveries (webhook_id, event_id);
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (webhook_id, next_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_running ON webhook_deliveries (webhook_id) WHERE running;
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (state, ended_ms) WHERE state <> 'pending';

-- Returns the event in the format of webhooks of MLflow's model registry: the repository is the model, a commit is a
-- version. NULL: the format has no such event. Called by emit_event.
CREATE FUNCTION mlflow_event(p_repo integer, p_type text, p_data jsonb, p_at text)
RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
  c commits%ROWTYPE;
BEGIN
  IF p_type IN ('alias.set', 'alias.removed') THEN
    RETURN json_build_object(
      'entity', 'model_version_alias',
      'action', CASE p_type WHEN 'alias.set' THEN 'created' ELSE 'deleted' END,
      'timestamp', p_at,
      'data', CASE p_type
        WHEN 'alias.set' THEN json_build_object('name', p_data->>'repository', 'alias', p_data->>'name',
                                                'version', p_data->>'new_commit')
        ELSE json_build_object('name', p_data->>'repository', 'alias', p_data->>'name') END);
  END IF;
  IF p_type <> 'tag.created' THEN RETURN NULL; END IF;
  SELECT * INTO c FROM commits WHERE repo_id = p_repo AND commit_id = decode(p_data->>'new_commit', 'hex');
  RETURN json_build_object(
    'entity', 'model_version', 'action', 'created', 'timestamp', p_at,
    'data', json_build_object(
      'name', p_data->>'repository',
      'version', p_data->>'new_commit',
      'source', 'lakefs://' || (p_data->>'repository') || '/' || (p_data->>'new_commit') || '/',
      'run_id', (
        SELECT run_id FROM runs
        WHERE repo_id = p_repo AND commit_id IN (
          c.commit_id, (SELECT winner FROM promotions WHERE repo_id = p_repo AND result = c.commit_id LIMIT 1))
        ORDER BY run_id LIMIT 1),
      'tags', jsonb_object(coalesce(c.metadata, '{}')) || jsonb_build_object('tarn.tag', p_data->>'name'),
      'description', coalesce(c.message, '')));
END
$$;

-- Writes an event and its deliveries for the webhooks of a repository that subscribe to it, in the caller's transaction;
-- costs one look when the repository has none. p_also: names of webhooks that get it whatever they subscribe to. Locks nothing that others wait for but the quotas of
-- metadata (trigger events_charge, at the end of the transaction). Called by the functions below, tell_quota,
-- events::Outbox and branch::CleanupStore.
CREATE FUNCTION emit_event(p_repo integer, p_type text, p_data jsonb, p_also text[] DEFAULT '{}')
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_now    timestamptz := clock_timestamp();
  v_at     text := to_char(v_now AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  v_id     text;
  v_data   jsonb;
  v_mlflow text;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM webhooks WHERE repo_id = p_repo AND active) THEN RETURN; END IF;
  SELECT jsonb_build_object('repository', name) || p_data INTO v_data FROM repositories WHERE repo_id = p_repo;
  IF EXISTS (SELECT 1 FROM webhooks WHERE repo_id = p_repo AND active AND format = 'mlflow') THEN
    v_mlflow := mlflow_event(p_repo, p_type, v_data, v_at);
  END IF;
  v_id := 'evt_' || lpad(to_hex(nextval('event_numbers')), 16, '0') || '_'
          || substr(replace(gen_random_uuid()::text, '-', ''), 1, 12);
  INSERT INTO webhook_deliveries (event_id, webhook_id, next_at, body)
  SELECT v_id, webhook_id, v_now, CASE format WHEN 'mlflow' THEN v_mlflow END
  FROM webhooks
  WHERE repo_id = p_repo AND active AND (format = 'standard' OR v_mlflow IS NOT NULL)
    AND (name = ANY (p_also)
         OR p_type LIKE ANY (SELECT replace(replace(e, '_', '\_'), '*', '%') FROM unnest(events) AS e));
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO events (event_id, repo_id, type, body, created_ms)
  VALUES (v_id, p_repo, p_type,
          json_build_object('type', p_type, 'timestamp', v_at, 'data', v_data)::text,
          (extract(epoch FROM v_now) * 1000)::bigint);
END
$$;

-- Returns the data of an event about a ref. Called by tell_branch, tell_tag and tell_alias.
CREATE FUNCTION ref_change(p_repo integer, p_kind text, p_name text, p_old bytea, p_new bytea)
RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object(
    'kind', p_kind, 'name', p_name, 'old_commit', encode(p_old, 'hex'), 'new_commit', encode(p_new, 'hex'),
    'committer', (SELECT committer FROM commits WHERE repo_id = p_repo AND commit_id = p_new))
$$;

-- Emits branch.created, branch.updated, branch.renamed and branch.deleted.
CREATE FUNCTION tell_branch() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_repo integer := coalesce(NEW.repo_id, OLD.repo_id);
BEGIN
  IF EXISTS (SELECT 1 FROM webhooks WHERE repo_id = v_repo AND active) THEN
    PERFORM emit_event(
      v_repo, CASE WHEN TG_OP = 'INSERT' THEN 'branch.created' WHEN TG_OP = 'DELETE' THEN 'branch.deleted'
                   WHEN OLD.name <> NEW.name THEN 'branch.renamed' ELSE 'branch.updated' END,
      ref_change(v_repo, 'branch', coalesce(NEW.name, OLD.name), OLD.head, NEW.head)
        || CASE WHEN OLD.name <> NEW.name THEN jsonb_build_object('old_name', OLD.name) ELSE '{}' END);
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER branches_tell AFTER INSERT OR DELETE ON branches FOR EACH ROW EXECUTE FUNCTION tell_branch();
CREATE TRIGGER branches_tell_moves AFTER UPDATE OF head, name ON branches FOR EACH ROW
  WHEN (OLD.head IS DISTINCT FROM NEW.head OR OLD.name IS DISTINCT FROM NEW.name) EXECUTE FUNCTION tell_branch();

-- Emits tag.created, tag.updated and tag.deleted.
CREATE FUNCTION tell_tag() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_repo integer := coalesce(NEW.repo_id, OLD.repo_id);
BEGIN
  IF EXISTS (SELECT 1 FROM webhooks WHERE repo_id = v_repo AND active) THEN
    PERFORM emit_event(
      v_repo, CASE TG_OP WHEN 'INSERT' THEN 'tag.created' WHEN 'UPDATE' THEN 'tag.updated' ELSE 'tag.deleted' END,
      ref_change(v_repo, 'tag', coalesce(NEW.name, OLD.name), OLD.commit_id, NEW.commit_id));
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER tags_tell AFTER INSERT OR UPDATE OR DELETE ON tags FOR EACH ROW EXECUTE FUNCTION tell_tag();

-- Emits alias.set and alias.removed, and alias.moved_by_hand unless a promotion did it.
CREATE FUNCTION tell_alias() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_data jsonb;
BEGIN
  IF EXISTS (SELECT 1 FROM webhooks WHERE repo_id = NEW.repo_id AND active) THEN
    v_data := ref_change(NEW.repo_id, 'alias', NEW.name, NEW.from_commit, NEW.to_commit)
      || jsonb_strip_nulls(jsonb_build_object('version', NEW.version, 'actor', NEW.actor, 'reason', NEW.reason,
                                              'promotion_id', NEW.promotion_id));
    PERFORM emit_event(NEW.repo_id, CASE WHEN NEW.to_commit IS NULL THEN 'alias.removed' ELSE 'alias.set' END, v_data);
    IF NEW.promotion_id IS NULL THEN
      PERFORM emit_event(NEW.repo_id, 'alias.moved_by_hand', v_data - 'kind');
    END IF;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER alias_history_tells AFTER INSERT ON alias_history FOR EACH ROW EXECUTE FUNCTION tell_alias();

-- Emits policy.set and policy.removed.
CREATE FUNCTION tell_policy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM webhooks WHERE repo_id = NEW.repo_id AND active) THEN
    PERFORM emit_event(
      NEW.repo_id, CASE WHEN NEW.document IS NULL THEN 'policy.removed' ELSE 'policy.set' END,
      jsonb_strip_nulls(jsonb_build_object(
        'name', NEW.name, 'version', NEW.version, 'actor', NEW.author, 'digest', encode(NEW.digest, 'hex'),
        'destination', coalesce(NEW.destination, (
          SELECT destination FROM gate_policy_versions
          WHERE repo_id = NEW.repo_id AND name = NEW.name AND version = NEW.version - 1)))));
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER gate_policy_versions_tell AFTER INSERT ON gate_policy_versions
  FOR EACH ROW EXECUTE FUNCTION tell_policy();

-- Emits policy.proposed.
CREATE FUNCTION tell_policy_proposal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM webhooks WHERE repo_id = NEW.repo_id AND active) THEN
    PERFORM emit_event(NEW.repo_id, 'policy.proposed', jsonb_build_object(
      'name', NEW.name, 'version', NEW.base, 'actor', NEW.author, 'removes', NEW.document IS NULL));
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER gate_policy_proposals_tell AFTER INSERT OR UPDATE ON gate_policy_proposals
  FOR EACH ROW EXECUTE FUNCTION tell_policy_proposal();

-- Emits repository.deleted. tarn.actor is the user whom meta::Repositories names.
CREATE FUNCTION tell_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM emit_event(NEW.repo_id, 'repository.deleted', jsonb_strip_nulls(jsonb_build_object(
    'actor', nullif(current_setting('tarn.actor', true), ''),
    'restorable_until', CASE WHEN NEW.purge_ms > NEW.deleted_ms THEN
      to_char(to_timestamp(NEW.purge_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') END)));
  RETURN NULL;
END
$$;
CREATE TRIGGER repositories_tell_deletion AFTER UPDATE OF deleted_ms ON repositories FOR EACH ROW
  WHEN (OLD.deleted_ms IS NULL AND NEW.deleted_ms IS NOT NULL) EXECUTE FUNCTION tell_deletion();

-- Takes the webhooks of a repository that is being deleted out of use, except for telling them of it. Called by
-- put_repository_away and meta::Repositories.
CREATE FUNCTION let_webhooks_go(p_repo integer) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  DELETE FROM webhook_deliveries d USING webhooks w
  WHERE w.repo_id = p_repo AND d.webhook_id = w.webhook_id
    AND NOT EXISTS (SELECT 1 FROM events e WHERE e.event_id = d.event_id AND e.type = 'repository.deleted');
  INSERT INTO leaving_webhooks SELECT w.* FROM webhooks w
  WHERE w.repo_id = p_repo AND EXISTS (
    SELECT 1 FROM webhook_deliveries d WHERE d.webhook_id = w.webhook_id AND d.state = 'pending');
END
$$;

-- Emits import.completed, import.failed and import.cancelled.
CREATE FUNCTION tell_import() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM webhooks WHERE repo_id = NEW.repo_id AND active) THEN
    PERFORM emit_event(
      NEW.repo_id,
      CASE NEW.state WHEN 'done' THEN 'import.completed' WHEN 'failed' THEN 'import.failed' ELSE 'import.cancelled' END,
      jsonb_build_object('id', NEW.job_id,
                         'branch', (SELECT name FROM branches WHERE branch_id = NEW.branch_id),
                         'objects', NEW.progress, 'actor', NEW.owner, 'error', nullif(NEW.error, '')));
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER jobs_tell_imports AFTER UPDATE OF state ON jobs FOR EACH ROW
  WHEN (NEW.kind = 'import' AND OLD.state IN ('queued', 'running') AND NEW.state IN ('done', 'failed', 'cancelled'))
  EXECUTE FUNCTION tell_import();

-- Emits promotion.* of a new promotion and its states. A rollback emits the event about the promotion that it takes back.
CREATE FUNCTION tell_promotion() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_type text := CASE
    WHEN NEW.undoes IS NOT NULL AND NEW.state = 'promoted' THEN 'promotion.rolled_back'
    WHEN TG_OP = 'INSERT' AND NEW.undoes IS NULL THEN 'promotion.created'
    WHEN NEW.state IN ('gates_running', 'awaiting_approval') THEN 'promotion.waiting'
    WHEN NEW.state IN ('promoted', 'rejected', 'failed', 'cancelled') THEN 'promotion.' || NEW.state END;
BEGIN
  IF v_type IS NOT NULL AND EXISTS (SELECT 1 FROM webhooks WHERE repo_id = NEW.repo_id AND active) THEN
    PERFORM emit_event(NEW.repo_id, v_type, jsonb_strip_nulls(jsonb_build_object(
      'promotion_id', coalesce(NEW.undoes, NEW.promotion_id),
      'rollback_id', CASE WHEN NEW.undoes IS NOT NULL THEN NEW.promotion_id END,
      'state', NEW.state, 'destination', NEW.destination, 'alias', nullif(NEW.alias, ''), 'policy', NEW.policy,
      'policy_version', NEW.policy_version, 'winner', nullif(NEW.winner_ref, ''),
      'winner_commit', encode(NEW.winner, 'hex'), 'commit', encode(NEW.result, 'hex'), 'tag', nullif(NEW.tag, ''),
      'code', nullif(NEW.code, ''), 'message', nullif(NEW.message, ''), 'actor', NEW.actor,
      'review', CASE WHEN v_type = 'promotion.waiting' THEN nullif(NEW.review, '')::jsonb END,
      'review_digest', CASE WHEN v_type = 'promotion.waiting' AND NEW.review <> ''
                            THEN encode(sha256(convert_to(NEW.review, 'UTF8')), 'hex') END)), NEW.tells);
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER promotions_tell AFTER INSERT ON promotions FOR EACH ROW EXECUTE FUNCTION tell_promotion();
CREATE TRIGGER promotions_tell_steps AFTER UPDATE OF state ON promotions FOR EACH ROW
  WHEN ((OLD.state, OLD.code) IS DISTINCT FROM (NEW.state, NEW.code)) EXECUTE FUNCTION tell_promotion();

-- Returns the data of all events about a pull request. Called by the two functions below.
CREATE FUNCTION pull_request_data(p_repo integer, p_pull text) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('pull_request', pull_id, 'number', number, 'author', author, 'source', source,
                            'destination', destination)
  FROM pull_requests WHERE repo_id = p_repo AND pull_id = p_pull
$$;

-- Returns the names that a text mentions as @name, the first 20. Whether users have these names is not looked up: an event
-- must not tell. Called by tell_pull_comment.
CREATE FUNCTION mentioned_users(p_text text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(array_agg(name ORDER BY at), '{}') FROM (
    SELECT m[1] AS name, min(at) AS at
    FROM regexp_matches(p_text, '(?<![[:alnum:]_.@/+-])@([[:alnum:]_](?:[[:alnum:]_.@+-]{0,126}[[:alnum:]_])?)', 'g')
      WITH ORDINALITY AS found(m, at)
    GROUP BY m[1] ORDER BY min(at) LIMIT 20) AS names
$$;

-- Emits pull_request.commented. The data has no text of the comment: those who receive it need not be allowed to read it.
CREATE FUNCTION tell_pull_comment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM webhooks WHERE repo_id = NEW.repo_id AND active) THEN
    PERFORM emit_event(NEW.repo_id, 'pull_request.commented',
      pull_request_data(NEW.repo_id, NEW.pull_id) || jsonb_strip_nulls(jsonb_build_object(
        'actor', NEW.author, 'comment', NEW.comment_id, 'thread', NEW.thread_id, 'path', NEW.path, 'line', NEW.line,
        'row', NEW.row_number, 'commit', encode(NEW.commit_id, 'hex'), 'mentions', mentioned_users(NEW.body))));
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER pull_comments_tell AFTER INSERT ON pull_comments FOR EACH ROW EXECUTE FUNCTION tell_pull_comment();

-- Emits pull_request.review_requested and pull_request.reviewed.
CREATE FUNCTION tell_pull_reviewer() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_user text;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM webhooks WHERE repo_id = NEW.repo_id AND active) THEN RETURN NULL; END IF;
  SELECT name INTO v_user FROM users WHERE user_id = NEW.user_id;
  IF NEW.asked_by IS NOT NULL AND (TG_OP = 'INSERT' OR OLD.asked_by IS NULL) THEN
    PERFORM emit_event(NEW.repo_id, 'pull_request.review_requested',
      pull_request_data(NEW.repo_id, NEW.pull_id)
      || jsonb_build_object('actor', NEW.asked_by, 'reviewer', v_user));
  END IF;
  IF NEW.verdict IS NOT NULL AND (TG_OP = 'INSERT' OR OLD.verdict IS DISTINCT FROM NEW.verdict
                                  OR OLD.commit_id IS DISTINCT FROM NEW.commit_id) THEN
    PERFORM emit_event(NEW.repo_id, 'pull_request.reviewed',
      pull_request_data(NEW.repo_id, NEW.pull_id)
      || jsonb_build_object('actor', v_user, 'verdict', NEW.verdict, 'commit', encode(NEW.commit_id, 'hex')));
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER pull_reviewers_tell AFTER INSERT OR UPDATE ON pull_reviewers
  FOR EACH ROW EXECUTE FUNCTION tell_pull_reviewer();

-- Emits hook.completed and hook.failed.
CREATE FUNCTION tell_hook_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM webhooks WHERE repo_id = NEW.repo_id AND active) THEN
    PERFORM emit_event(NEW.repo_id, 'hook.' || NEW.state, jsonb_strip_nulls(jsonb_build_object(
      'run_id', NEW.run_id, 'event', NEW.event, 'branch', nullif(NEW.branch, ''),
      'commit', encode(NEW.commit_id, 'hex'), 'error', nullif(NEW.error, ''))));
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER hook_runs_tell AFTER INSERT OR UPDATE OF state ON hook_runs FOR EACH ROW
  WHEN (NEW.state IN ('completed', 'failed')) EXECUTE FUNCTION tell_hook_run();

-- Claims at most p_limit deliveries that are due, of one webhook only so many that no more than p_per_webhook are being
-- sent. A delivery that has not ended within p_lease_ms can be claimed again. Takes advisory lock class 13, so one claims at a
-- time and the bound holds over all servers; then the rows of the deliveries. Called by events::Outbox.
CREATE FUNCTION claim_deliveries(p_limit integer, p_per_webhook integer, p_lease_ms bigint)
RETURNS TABLE (event_id text, webhook_id integer, claim integer, attempts integer, body text, type text, url text,
               format text, secret bytea, repo_id integer, name text)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_now timestamptz;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'claiming deliveries needs read committed isolation';
  END IF;
  PERFORM pg_advisory_xact_lock(13, 0);
  v_now := clock_timestamp();
  RETURN QUERY
  WITH RECURSIVE waiting (webhook_id) AS (        -- the webhooks with something pending, one look each
    (SELECT d.webhook_id FROM webhook_deliveries d WHERE d.state = 'pending' ORDER BY d.webhook_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.webhook_id FROM webhook_deliveries d
            WHERE d.state = 'pending' AND d.webhook_id > w.webhook_id ORDER BY d.webhook_id LIMIT 1)
    FROM waiting w WHERE w.webhook_id IS NOT NULL),
  due AS (
    SELECT x.event_id, h.webhook_id, h.url, h.format, h.secret, h.repo_id, h.name
    FROM waiting w JOIN (
      SELECT webhook_id, repo_id, name, url, format, secret, active FROM webhooks
      UNION ALL
      SELECT webhook_id, repo_id, name, url, format, secret, active FROM leaving_webhooks) AS h
      ON h.webhook_id = w.webhook_id, LATERAL (
      SELECT d.event_id, d.next_at FROM webhook_deliveries d
      WHERE d.webhook_id = h.webhook_id AND d.state = 'pending' AND d.next_at <= v_now
      ORDER BY d.next_at
      LIMIT greatest(0, p_per_webhook - (
        SELECT count(*) FROM webhook_deliveries r
        WHERE r.webhook_id = h.webhook_id AND r.running AND r.state = 'pending' AND r.next_at > v_now))) AS x
    WHERE h.active ORDER BY x.next_at LIMIT p_limit)
  UPDATE webhook_deliveries d
  SET running = true, claim = d.claim + 1, attempts = d.attempts + 1,
      next_at = v_now + p_lease_ms * interval '1 millisecond'
  FROM due JOIN events e ON e.event_id = due.event_id
  WHERE d.event_id = due.event_id AND d.webhook_id = due.webhook_id
  RETURNING d.event_id, d.webhook_id, d.claim, d.attempts, coalesce(d.body, e.body), e.type, due.url, due.format,
            due.secret, due.repo_id, due.name;
END
$$;
