"""nginx with one worker as the ceiling: with static files, since nothing serves bytes to the same client faster, or in front of
an S3 server, since nothing between a client and a store costs less."""

import servers

SMALL_BYTES = 1024
LARGE_BYTES = 64 << 20

CONFIGURATION = """
daemon off;
worker_processes 1;
pid {directory}/pid;
error_log {directory}/error.log;
user root;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  default_type application/octet-stream;
  client_body_temp_path {directory}/body;
  proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi;
  scgi_temp_path {directory}/scgi;
  {places}
}}
"""

FILES = """
  server {{
    listen 127.0.0.1:{port};
    root {directory}/files;
    location / {{ try_files $uri /small; }}
    location /big/ {{ try_files /large =404; }}
  }}
"""

FORWARDED = """
  upstream store {{ server {store}; keepalive 64; keepalive_requests 1000000000; }}
  server {{
    listen 127.0.0.1:{port};
    client_max_body_size 0;
    location / {{
      proxy_pass http://store;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_request_buffering off;
      proxy_buffering off;
      proxy_buffer_size 256k;
      proxy_buffers 4 256k;
    }}
  }}
"""


class Nginx:
    def __init__(self, directory, places, **words):
        self.directory = directory
        self.directory.mkdir(parents=True, exist_ok=True)
        self.port = servers.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.configuration = CONFIGURATION.format(
            directory=directory, places=places.format(directory=directory, port=self.port, **words)
        )
        self.process = None

    def start(self):
        file = self.directory / "nginx.conf"
        file.write_text(self.configuration)
        self.process = servers.Process(
            ["/usr/sbin/nginx", "-c", str(file), "-e", str(self.directory / "error.log")],
            self.directory / "nginx.log",
            servers.clean_environment({}),
        )
        self.process.wait_until(lambda: servers.accepts(f"127.0.0.1:{self.port}"), "nginx")
        return self

    def stop(self):
        self.process.stop()


class Ceiling(Nginx):
    """Every path is 1 KiB, /big/N is 64 MiB, and what stands in `files` is itself."""

    def __init__(self, directory):
        super().__init__(directory, FILES)
        self.files = directory / "files"
        self.files.mkdir(parents=True)
        (self.files / "small").write_bytes(b"x" * SMALL_BYTES)
        (self.files / "large").write_bytes(b"x" * LARGE_BYTES)


class Forwarder(Nginx):
    """Sends every request on to an S3 server, unchanged, with that server's keys."""

    def __init__(self, directory, store):
        super().__init__(directory, FORWARDED, store=store.url.removeprefix("http://"))
        self.access_key, self.secret_key = store.access_key, store.secret_key
